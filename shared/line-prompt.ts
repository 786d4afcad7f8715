import { createInterface } from 'node:readline/promises'

/** Questions to the person at this terminal. */
interface LinePrompt {
  /** The typed line; undefined after Ctrl-C, Ctrl-D or the end of the input: nothing is submitted. */
  ask: (question: string) => Promise<string | undefined>
  /** Aborts when the person leaves. */
  signal: AbortSignal
  close: () => void
}

export const openLinePrompt = (): LinePrompt => {
  const left = new AbortController()
  const { signal } = left
  const lines = createInterface({ input: process.stdin, output: process.stdout })
  lines.once('close', () => left.abort())
  const ask = async (question: string): Promise<string | undefined> => {
    const line = await lines.question(question, { signal }).catch(() => undefined)
    // readline answers with the unfinished line when its input ends
    return signal.aborted ? undefined : line
  }
  return { ask, signal, close: () => lines.close() }
}
