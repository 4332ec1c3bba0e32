# Installs what operators need besides programs: chart, rules, dashboards, stories, and pages. All have the folders below
# share/quotient that they have in this tree, so that links between pages and commands of pages hold there, too.

set(operation share/quotient)
install(DIRECTORY deploy/dashboards deploy/kubernetes deploy/prometheus DESTINATION ${operation}/deploy
        COMPONENT operation USE_SOURCE_PERMISSIONS PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY deploy/guide DESTINATION ${operation}/deploy COMPONENT operation USE_SOURCE_PERMISSIONS
        FILES_MATCHING PATTERN "*.md" PATTERN "*.sh")
install(FILES deploy/METRICS.md deploy/README.md DESTINATION ${operation}/deploy COMPONENT operation)

# Pages that those link to. What these link to in turn is in the sources.
foreach(page
        CHANGELOG.md README.md
        client/README.md client/builds/LOCK.md client/builds/README.md client/python/README.md
        core/journal/FORMAT.md core/optimize/DECISION.md core/report/README.md
        proto/README.md
        server/README.md server/config/README.md server/pages/README.md server/runner/README.md server/store/FORMAT.md
        tests/bench/models/FAMILIES.md tests/bench/models/RESULTS.md tests/bench/service/RESULTS.md
        tests/deploy/kubernetes/README.md tests/e2e/random_models/README.md)
  cmake_path(GET page PARENT_PATH folder)
  install(FILES ${page} DESTINATION ${operation}/${folder} COMPONENT operation)
endforeach()
