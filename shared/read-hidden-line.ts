import { ShoalError } from './errors.ts'

/** Input from which a secret is typed or piped. */
export interface SecretInput {
  isTTY?: boolean
  setRawMode?: (raw: boolean) => unknown
  resume(): unknown
  pause(): unknown
  setEncoding(encoding: 'utf8'): unknown
  on(event: 'data', listener: (text: string) => void): unknown
  on(event: 'end', listener: () => void): unknown
  off(event: 'data', listener: (text: string) => void): unknown
}

/** Reads a line that is typed on a terminal, without echo. Throws `client_closed` on Ctrl-C, Ctrl-D or end of input. */
export const readHiddenLine = async (
  prompt: string,
  input: SecretInput = process.stdin,
  say: (text: string) => void = text => void process.stderr.write(text),
): Promise<string> => {
  input.setEncoding('utf8')
  // Text typed ahead would be echoed until raw mode is set
  input.setRawMode?.(true)
  say(prompt)
  try {
    return await line(input)
  } finally {
    input.setRawMode?.(false)
    input.pause()
    say('\n')
  }
}

const ERASE = ['\u007f', '\b']
const LEAVE = ['\u0003', '\u0004']
const ENTER = ['\r', '\n']

/** A raw terminal sends Ctrl-C and the backspace as characters. */
const line = (input: SecretInput): Promise<string> =>
  new Promise((done, fail) => {
    let text = ''
    const take = (piece: string): void => {
      for (const char of piece) {
        if (ERASE.includes(char)) text = text.slice(0, -1)
        else if (!ENTER.includes(char) && !LEAVE.includes(char)) text += char
        else {
          input.off('data', take)
          if (ENTER.includes(char)) done(text)
          else fail(createLeftError())
          return
        }
      }
    }
    input.on('data', take)
    input.on('end', () => fail(createLeftError()))
    input.resume()
  })

const createLeftError = (): ShoalError => new ShoalError('client_closed', 'nothing was changed')
