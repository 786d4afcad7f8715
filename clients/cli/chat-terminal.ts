import { createInterface } from 'node:readline'

/** Terminal of a chat session. */
export interface ChatTerminal {
  /** The next line, without its line end; undefined after Ctrl-D. */
  readLine: (prompt: string) => Promise<string | undefined>
  /** True for a plain yes, typed after the question was shown. */
  confirm: (question: string) => Promise<boolean>
  /** Calls a listener at Ctrl-C while `work` goes on. */
  whileInterruptible: <T>(onInterrupt: () => void, work: Promise<T>) => Promise<T>
  close: () => void
}

const LEAVE_HINT = 'Ctrl-D or /exit ends the session'

/**
 * The terminal of this process, with the history and the keys of readline. Lines that are typed or
 * pasted while an answer arrives are kept for the next prompt. Prompts are never stored on the disk.
 */
export const openChatTerminal = (): ChatTerminal => {
  const { stdin, stdout } = process
  const lines = createInterface({ input: stdin, output: stdout, terminal: true })
  const typed: string[] = []
  let isClosed = false
  let wake = (): void => {}
  let interrupt: (() => void) | undefined
  lines.on('line', line => {
    typed.push(line)
    wake()
  })
  lines.on('close', () => {
    isClosed = true
    // readline gives the unfinished line when its input ends: it is not sent
    if (lines.line !== '' && typed.at(-1) === lines.line) typed.pop()
    wake()
  })
  lines.on('SIGINT', () => {
    if (interrupt !== undefined) return interrupt()
    const wasEmpty = lines.line === ''
    // to the end of the line, then all before it away
    lines.write(null, { ctrl: true, name: 'e' })
    lines.write(null, { ctrl: true, name: 'u' })
    stdout.write(wasEmpty ? `\n${LEAVE_HINT}\n` : '\n')
    lines.prompt()
  })
  const readLine: ChatTerminal['readLine'] = async prompt => {
    lines.setPrompt(prompt)
    while (typed.length === 0 && !isClosed) {
      lines.prompt(true)
      await new Promise<void>(done => {
        wake = done
      })
    }
    return typed.shift()
  }
  const confirm: ChatTerminal['confirm'] = async question => {
    // a line that was typed ahead answers no question that nobody had seen
    const ahead = typed.splice(0)
    const answer = await readLine(`${question} y/N `)
    typed.unshift(...ahead)
    return ['y', 'yes'].includes((answer ?? '').trim().toLowerCase())
  }
  const whileInterruptible: ChatTerminal['whileInterruptible'] = async (onInterrupt, work) => {
    interrupt = onInterrupt
    try {
      return await work
    } finally {
      interrupt = undefined
    }
  }
  return { readLine, confirm, whileInterruptible, close: () => lines.close() }
}
