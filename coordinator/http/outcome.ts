/**
 * Runs a hook that calls back instead of answering a promise, and calls back with what it throws:
 * Fastify does not catch that. For hooks on every request's path, where a promise costs more than
 * the work.
 */
export const outcome = (run: () => void, done: (error?: Error) => void): void => {
  try {
    run()
  } catch (error) {
    done(error as Error)
    return
  }
  done()
}
