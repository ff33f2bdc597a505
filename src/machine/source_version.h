// The sources that this program was built of.
#pragma once

namespace epochbench {

struct SourceVersion {
  const char *version, *commit;  // commit: empty if unknown
  bool changed;                  // the sources differ from the commit
};
SourceVersion source_version();

}  // namespace epochbench
