# Pictures of digits and of how well they are read.

BLUE <- "#0b6bcb"
GREY <- "#9aa5b1"
RED <- "#c0362c"

# Draw digits in rows of ten, each with a title.
draw_digits <- function(images, titles, colour = "black") {
  n <- length(titles)
  old <- par(mfrow = c(ceiling(n / 10), 10), mar = c(0.2, 0.2, 1.6, 0.2))
  on.exit(par(old))
  for (i in seq_len(n)) {
    pixels <- matrix(images[i, ], 28)[, 28:1]
    image(pixels, col = grey(seq(1, 0, length.out = 64)), zlim = c(0, 1), axes = FALSE, asp = 1)
    title(titles[i], col.main = colour, font.main = 1, cex.main = 1.1)
  }
}

# Draw how the accuracy grew: epochs, and the accuracy of training and test at each, 0 to 1.
draw_curves <- function(epochs, training, test) {
  old <- par(mar = c(4, 4, 1, 4), las = 1, bty = "l")
  on.exit(par(old))
  lowest <- floor(min(training, test) * 20) / 20
  plot(
    epochs, 100 * training,
    type = "b", pch = 20, col = GREY, ylim = 100 * c(lowest, 1), xlab = "epoch", ylab = "accuracy, %"
  )
  grid(nx = NA, ny = NULL, lty = 1, col = "#00000020")
  lines(epochs, 100 * test, type = "b", pch = 20, col = BLUE)
  mtext(sprintf("%.1f %%", 100 * tail(test, 1)), side = 4, at = 100 * tail(test, 1), col = BLUE)
  legend(
    "bottomright", c("training", "test"),
    col = c(GREY, BLUE), lty = 1, pch = 20, bty = "n", y.intersp = 1.6, inset = 0.05
  )
}

# Draw how often each digit was read as each other one.
draw_confusion <- function(labels, read) {
  counts <- table(factor(labels, 0:9), factor(read, 0:9))
  wrong <- counts
  diag(wrong) <- 0
  old <- par(mar = c(4, 4, 1, 1), las = 1)
  on.exit(par(old))
  shades <- colorRampPalette(c("white", RED))(64)
  image(0:9, 0:9, t(wrong), col = shades, xlab = "read as", ylab = "is", axes = FALSE)
  axis(1, 0:9, tick = FALSE)
  axis(2, 0:9, tick = FALSE)
  box(col = GREY)
  cells <- expand.grid(is = 0:9, read = 0:9)
  seen <- as.vector(counts) > 0
  text(
    cells$read[seen], cells$is[seen], as.vector(counts)[seen],
    col = ifelse(cells$is == cells$read, GREY, "black")[seen]
  )
}
