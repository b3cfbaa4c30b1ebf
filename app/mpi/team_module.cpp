// fhd_mpi.so calls MPI for fhd. It is opened only under mpirun, so that fhd itself runs, and starts fast, without MPI. A
// plain C interface; every function returns 0, or an MPI error code.
#include <mpi.h>

#include <algorithm>
#include <cstdint>

extern "C" {

int fhd_mpi_begin(int* rank, int* size) {
  int started = 0, provided = 0;
  if (const int error = MPI_Initialized(&started)) return error;
  if (!started)
    if (const int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided)) return error;
  if (const int error = MPI_Comm_rank(MPI_COMM_WORLD, rank)) return error;
  return MPI_Comm_size(MPI_COMM_WORLD, size);
}

/// Sums in pieces, because a count of MPI is an int.
static int sum(void* values, std::int64_t count, std::size_t size, MPI_Datatype type) {
  constexpr std::int64_t most = std::int64_t{1} << 26;
  for (std::int64_t first = 0; first < count; first += most) {
    char* piece = static_cast<char*>(values) + static_cast<std::size_t>(first) * size;
    const int length = static_cast<int>(std::min(most, count - first));
    if (const int error = MPI_Allreduce(MPI_IN_PLACE, piece, length, type, MPI_SUM, MPI_COMM_WORLD))
      return error;
  }
  return 0;
}

int fhd_mpi_sum_float(float* values, std::int64_t count) {
  return sum(values, count, sizeof(float), MPI_FLOAT);
}
int fhd_mpi_sum_double(double* values, std::int64_t count) {
  return sum(values, count, sizeof(double), MPI_DOUBLE);
}

/// Waits for every process, then leaves MPI.
int fhd_mpi_end() {
  if (const int error = MPI_Barrier(MPI_COMM_WORLD)) return error;
  return MPI_Finalize();
}

/// Ends every process.
int fhd_mpi_abort(int status) { return MPI_Abort(MPI_COMM_WORLD, status); }
}
