interface Output {
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown
}

/**
 * Ignores EPIPE: a reader that has seen enough, such as `head`, is not a failure. Later output is
 * lost; the program continues to its own end and exit code unless `stop` ends it.
 */
export const onReaderGone = (outputs: readonly Output[], stop: () => void = () => {}): void => {
  for (const output of outputs)
    output.on('error', error => {
      if (error.code !== 'EPIPE') throw error
      stop()
    })
}
