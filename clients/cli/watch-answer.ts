import type { PrintableRows } from '../../shared/print.ts'
import { drawRepeatedly, type LiveTerminal, repeatUntilLeft } from './live-screen.ts'
import type { OpenSession } from './session.ts'

type WatchSession = Pick<OpenSession, 'format' | 'write' | 'hint' | 'toText' | 'toNextText'>

/**
 * Shows the newest answer until the user leaves, which is a success. A pipe gets each answer that
 * differs from the one before, JSON as one line.
 */
export const watchAnswer = async (
  { format, write, hint, toText, toNextText }: WatchSession,
  look: () => Promise<PrintableRows>,
  terminal: LiveTerminal,
): Promise<void> => {
  if (terminal.isTTY && format === 'text')
    return drawRepeatedly(terminal, write, async () => toText(await look()))
  const writers = { show: onlyNew(write), explain: onlyNew(hint) }
  await repeatUntilLeft(terminal, async () => toNextText(await look()), writers)
}

/** Leaves out a text that is the same as the one before. */
const onlyNew = (write: (text: string) => void): ((text: string) => void) => {
  let before: string | undefined
  return text => {
    if (text !== before) write(text)
    before = text
  }
}
