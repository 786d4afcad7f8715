interface Output {
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown
}

/**
 * A reader that has seen enough, such as `head`, is no failure: what is written afterwards is lost,
 * and the program goes on to its own end and exit code, or to where `gone` leads it.
 */
export const onReaderGone = (outputs: readonly Output[], gone: () => void = () => {}): void => {
  for (const output of outputs)
    output.on('error', error => {
      if (error.code !== 'EPIPE') throw error
      gone()
    })
}
