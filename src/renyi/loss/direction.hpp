// Which of two neighbouring data sets holds the record.
#pragma once

namespace renyi {

// P is the law of the output with the record and Q that without it, or the other way round.
enum class Direction { remove, add };

}  // namespace renyi
