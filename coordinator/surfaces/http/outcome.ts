/**
 * Runs a hook with a callback instead of a promise, and passes an error it throws to the callback:
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
