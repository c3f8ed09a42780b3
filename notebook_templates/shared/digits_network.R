# A neural network with one hidden layer, in R's own matrices.

# Return fresh weights.
make_network <- function(n_inputs = 784, n_hidden = 128, n_outputs = 10) {
  random <- function(n, m) matrix(rnorm(n * m, sd = sqrt(2 / n)), n, m)
  list(
    hidden = random(n_inputs, n_hidden),
    hidden_bias = numeric(n_hidden),
    output = random(n_hidden, n_outputs),
    output_bias = numeric(n_outputs)
  )
}

# Return what the hidden layer makes of images, and the probability of each digit for each image.
read_digits <- function(network, images) {
  hidden <- pmax(sweep(images %*% network$hidden, 2, network$hidden_bias, "+"), 0)
  scores <- sweep(hidden %*% network$output, 2, network$output_bias, "+")
  likely <- exp(scores - apply(scores, 1, max))
  list(hidden = hidden, probabilities = likely / rowSums(likely))
}

# Return the share of images that the network reads rightly, 0 to 1.
accuracy <- function(network, digits) {
  probabilities <- read_digits(network, digits$images)$probabilities
  mean(max.col(probabilities) - 1 == digits$labels)
}

# Return the network after one step towards a smaller loss, and the loss.
#
# momentum: the moving direction of each weight, as it came from the step before; NULL at first.
take_step <- function(network, images, labels, rate, momentum = NULL) {
  n <- length(labels)
  layers <- read_digits(network, images)
  truth <- outer(labels, 0:9, "==") * 1
  error <- (layers$probabilities - truth) / n
  back <- (error %*% t(network$output)) * (layers$hidden > 0)
  gradients <- list(
    hidden = crossprod(images, back),
    hidden_bias = colSums(back),
    output = crossprod(layers$hidden, error),
    output_bias = colSums(error)
  )
  if (is.null(momentum)) momentum <- lapply(gradients, function(values) values * 0)
  momentum <- Map(function(old, new) 0.9 * old + new, momentum, gradients)
  list(
    network = Map(function(weights, move) weights - rate * move, network, momentum),
    momentum = momentum,
    loss = -mean(log(pmax(layers$probabilities[cbind(seq_len(n), labels + 1)], 1e-12)))
  )
}
