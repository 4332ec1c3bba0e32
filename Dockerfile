# Stages: deps (what install.sh installs), build, test, runtime. The last one is what
# `docker build .` makes; it takes the programs that the test stage has tested.

FROM debian:12.11-slim AS deps
WORKDIR /src
# Alone, so that a change of a source does not install again.
COPY deploy/setup deploy/setup
RUN deploy/setup/install.sh --with-tests

FROM deps AS build
COPY . .
RUN cmake --preset release && cmake --build --preset release

FROM build AS test
RUN QUOTIENT_PRESET=release tests/run.sh && \
    cmake --install build/release --prefix /opt/quotient --strip

FROM debian:12.11-slim AS runtime
COPY deploy/setup /tmp/setup
# A new volume has the files of this home, and quotient-restore wants one without any.
RUN /tmp/setup/install.sh --runtime && \
    rm -rf /tmp/setup /var/lib/apt/lists/* && \
    useradd --system --uid 10001 --home-dir /var/lib/quotient --create-home --skel /dev/null quotient
COPY --from=test /opt/quotient /opt/quotient
COPY LICENSE /opt/quotient/
ENV PATH=/opt/quotient/bin:$PATH
USER 10001
VOLUME /var/lib/quotient
# gRPC; metrics and probes.
EXPOSE 8980 9464
ENTRYPOINT ["quotientd"]
# What is published of the two ports is decided by who runs the container.
CMD ["--listen", "0.0.0.0:8980", "--allow-remote", "--metrics-listen", "0.0.0.0:9464", \
     "--data-dir", "/var/lib/quotient"]
