# Handwritten digits: 10,000 real images of MNIST, from the shared storage or the installation.

# Return the file on the shared storage; where there is none, the one beside the templates.
find_digits <- function() {
  on_storage <- Sys.getenv("PORTAL_DATASETS_DIR")
  if (!nzchar(on_storage)) on_storage <- "~/isilon/datasets"
  templates <- Sys.getenv("PORTAL_TEMPLATES_DIR", "/nowhere/templates")
  places <- c(on_storage, file.path(dirname(templates), "datasets"))
  files <- file.path(places, "mnist/mnist-10k.npz")
  c(files[file.exists(files)], files)[1]
}

DIGITS_PATH <- find_digits()
N_TRAINING <- 8000
SHUFFLE_SEED <- 2018

# Read the digits and divide them into training and test, always in the same way.
#
# path: a file of NumPy with x, uint8 (10000, 28, 28), and y, uint8 (10000).
# Returns a list: train and test, each with images (one row of 784 values for each image, 0 is paper
# and 1 is ink) and labels (0 to 9).
load_digits <- function(path = DIGITS_PATH) {
  if (!file.exists(path)) {
    stop(
      "The digits are not at ", path, ". On a cluster an administrator brings them with ",
      "'deploy/site/install', on a single machine with 'deploy/environments/build datasets'.",
      call. = FALSE
    )
  }
  pixels <- read_npy(path, "x.npy")
  labels <- as.integer(read_npy(path, "y.npy"))
  images <- matrix(as.integer(pixels), nrow = length(labels), byrow = TRUE) / 255
  set.seed(SHUFFLE_SEED)
  order <- sample(length(labels))
  training <- order[seq_len(N_TRAINING)]
  test <- order[-seq_len(N_TRAINING)]
  list(
    train = list(images = images[training, ], labels = labels[training]),
    test = list(images = images[test, ], labels = labels[test])
  )
}

# Return the bytes of an array of uint8 that numpy.savez has put into a file.
#
# Source: NumPy, numpy.lib.format, "Format Version 1.0".
read_npy <- function(path, name) {
  stream <- unz(path.expand(path), name, open = "rb")
  on.exit(close(stream))
  start <- readBin(stream, "raw", 10)
  header_size <- sum(as.integer(start[9:10]) * c(1, 256))
  header <- rawToChar(readBin(stream, "raw", header_size))
  if (!grepl("'descr': '|u1'", header, fixed = TRUE)) {
    stop(name, " in ", path, " holds no whole numbers of 8 bits.", call. = FALSE)
  }
  shape <- regmatches(header, regexpr("\\([0-9, ]+\\)", header))
  size <- prod(as.numeric(regmatches(shape, gregexpr("[0-9]+", shape))[[1]]))
  readBin(stream, "raw", size)
}
