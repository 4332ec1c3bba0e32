# Installs what operators need besides programs: chart, rules, dashboards, stories, the API, and pages. All have the folders below
# share/quotient that they have in this tree, so that links between pages and commands of pages hold there, too.

set(operation share/quotient)
install(DIRECTORY deploy/dashboards deploy/kubernetes deploy/prometheus DESTINATION ${operation}/deploy
        COMPONENT operation USE_SOURCE_PERMISSIONS PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY deploy/guide DESTINATION ${operation}/deploy COMPONENT operation USE_SOURCE_PERMISSIONS
        FILES_MATCHING PATTERN "*.md" PATTERN "*.sh")
install(FILES deploy/METRICS.md deploy/README.md DESTINATION ${operation}/deploy COMPONENT operation)

# What those link to. Links that lead to other sources are made text by deploy/package/links.py.
foreach(file
        CHANGELOG.md LICENSE README.md
        client/README.md client/builds/LOCK.md client/builds/README.md
        client/python/README.md client/python/notebooks/optimize.ipynb
        core/explain/README.md core/journal/FORMAT.md core/optimize/DECISION.md core/report/README.md
        core/verify/RISKS.md
        proto/README.md
        server/README.md server/config/README.md server/jobs/README.md server/pages/README.md server/rpc/README.md
        server/runner/README.md server/store/FORMAT.md
        tests/bench/models/FAMILIES.md tests/bench/models/RESULTS.md tests/bench/service/RESULTS.md
        tests/deploy/kubernetes/README.md
        tests/e2e/random_models/README.md tests/e2e/random_models/WHEELS.md)
  cmake_path(GET file PARENT_PATH folder)
  install(FILES ${file} DESTINATION ${operation}/${folder} COMPONENT operation)
endforeach()

# The API, of which other languages generate their clients.
install(DIRECTORY proto/quotient DESTINATION ${operation}/proto COMPONENT operation FILES_MATCHING PATTERN "*.proto")
install(DIRECTORY proto/google DESTINATION ${operation}/proto COMPONENT operation FILES_MATCHING PATTERN "*.proto")
