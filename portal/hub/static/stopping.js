// The page of a session that stops: looks again until it has.

setTimeout(() => window.location.reload(), 3000);
