/* The smallest MPI program that needs every rank: Init, Allreduce, Finalize. */
#include <mpi.h>

int main(int argc, char **argv) {
  int one = 1, all = 0, size = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all == size ? 0 : 1;
}
