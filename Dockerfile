# Stages: deps (what install.sh installs), build, test, package (deploy/package.sh), runtime. The last one is
# what `docker build .` makes; it has the Debian package of the programs that the test stage has tested.
# `docker build --target cuda .` adds cuda-deps (CUDA and cuDNN), cuda-package (the plug-in) and cuda.

FROM debian:12.11-slim AS deps
WORKDIR /src
# Alone, so that a change of a source does not install again.
COPY deploy/setup deploy/setup
RUN deploy/setup/install.sh --with-tests

FROM deps AS build
COPY . .
RUN cmake --preset release && cmake --build --preset release

FROM build AS test
RUN QUOTIENT_PRESET=release tests/run.sh

FROM test AS package
# The time that files have in the packages, in seconds since 1970.
ARG SOURCE_DATE_EPOCH
RUN deploy/package.sh --build build/release --output /packages

FROM deps AS cuda-deps
RUN deploy/setup/install.sh --with-tests --with-cuda

# The plug-in is all that CUDA adds to a build: the programs are those of the test stage.
FROM test AS cuda-package
ARG SOURCE_DATE_EPOCH
RUN --mount=type=bind,from=cuda-deps,source=/src/build/deps,target=/src/build/deps \
    cmake --preset release -D QUOTIENT_CUDA=ON && \
    cmake --build --preset release --target quotient_contents && \
    deploy/package.sh --build build/release --output /packages --nvidia /nvidia

FROM debian:12.11-slim AS server
LABEL org.opencontainers.image.title="Quotient" \
      org.opencontainers.image.description="Makes ONNX models faster, and proves it" \
      org.opencontainers.image.version="0.3.0" \
      org.opencontainers.image.licenses="Apache-2.0"
# sqlite3 is for quotient-backup and quotient-restore. A new volume has the files of this home, and
# quotient-restore wants one without any.
# hadolint ignore=DL3008
RUN --mount=type=bind,from=package,source=/packages,target=/packages \
    apt-get -qq update && \
    apt-get -qq install -y --no-install-recommends /packages/quotient_*_amd64.deb sqlite3 && \
    rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log && \
    useradd --system --uid 10001 --home-dir /var/lib/quotient --create-home --skel /dev/null quotient
USER 10001
VOLUME /var/lib/quotient
# gRPC; metrics and probes.
EXPOSE 8980 9464
# That the server answers; a server that is not ready needs no new container.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
  CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/9464 && printf 'GET /livez HTTP/1.0\\r\\n\\r\\n' >&3 && read -r answer <&3 && [[ $answer == *' 200 '* ]]"]
ENTRYPOINT ["quotientd"]
# What is published of the two ports is decided by who runs the container.
CMD ["--listen", "0.0.0.0:8980", "--allow-remote", "--metrics-listen", "0.0.0.0:9464", \
     "--data-dir", "/var/lib/quotient"]

FROM server AS cuda
LABEL org.opencontainers.image.title="Quotient for NVIDIA GPUs" \
      org.opencontainers.image.licenses="Apache-2.0 AND LicenseRef-NVIDIA-CUDA-Toolkit-EULA AND LicenseRef-NVIDIA-cuDNN-SLA"
USER 0
# Beside the plug-in, which looks there first. This layer of 1 GB is made anew only when deploy/setup changes.
COPY --from=cuda-deps /src/build/deps/cuda/lib/*.so.* /usr/lib/quotient/lib/
COPY --from=cuda-package /nvidia /
# hadolint ignore=DL3008
RUN --mount=type=bind,from=cuda-package,source=/packages,target=/packages \
    apt-get -qq update && \
    apt-get -qq install -y --no-install-recommends /packages/quotient-cuda_*_amd64.deb && \
    rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log && \
    bash -c '[[ $(ldd /usr/lib/quotient/lib/libquotient_cuda.so) != *"not found"* ]]'
USER 10001
# What NVIDIA's container runtime puts into the container: the driver's library for CUDA, and NVML for metrics.
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility

FROM server AS runtime
