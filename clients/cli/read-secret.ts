import { ShoalError } from '../../shared/errors.ts'
import { readHiddenLine, type SecretInput } from '../../shared/read-hidden-line.ts'

const LIMIT = 4096

/**
 * Reads one line without echo. Throws `client_closed` on Ctrl-C or end of input at a prompt,
 * `wrong_usage` when piped input is empty.
 */
export const readSecret = async (
  prompt: string,
  input: SecretInput = process.stdin,
  say?: (text: string) => void,
): Promise<string> => {
  input.setEncoding('utf8')
  const text =
    input.isTTY === true ? await readHiddenLine(prompt, input, say) : await readPiped(input)
  const secret = text.trim()
  if (secret === '') throw new ShoalError('wrong_usage', 'no key was given')
  if (/\s/.test(secret)) throw new ShoalError('wrong_usage', 'a key must be one word on one line')
  return secret
}

const readPiped = (input: SecretInput): Promise<string> =>
  new Promise((done, fail) => {
    let text = ''
    const end = () => {
      input.off('data', take)
      input.pause()
      done(text.split('\n', 1)[0] ?? '')
    }
    const take = (piece: string): void => {
      text += piece
      if (text.includes('\n')) end()
      else if (text.length > LIMIT) fail(new ShoalError('wrong_usage', 'the key is too long'))
    }
    input.on('data', take)
    input.on('end', end)
    input.resume()
  })
