// Which of two data sets holds the record: the two directions of add/remove adjacency.
#pragma once

namespace renyi {

// P is the law of the output with the record and Q without it, or the other way round.
enum class Side { remove, add };

}  // namespace renyi
