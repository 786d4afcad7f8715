import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { connect } from 'node:net'
import { ShoalError } from '../../shared/errors.ts'
import { ESTOP_SOCKET, LocalAnswer, type LocalRequest, MAX_ANSWER_BYTES } from './local-request.ts'

const ANSWER_MS = 5000

/** Codes of a connection that failed because no daemon listens. */
const NOBODY = ['ENOENT', 'ECONNREFUSED']

/**
 * Asks the running daemon of a state folder. Undefined when none listens. Throws ShoalError for a
 * refused request, and when this user may not use the socket.
 */
export const askLocalDaemon = async (
  stateDir: string,
  request: LocalRequest,
): Promise<Exclude<LocalAnswer, { error: string }> | undefined> => {
  const text = await exchange(stateDir, `${JSON.stringify(request)}\n`)
  if (text === undefined) return undefined
  const { data: answer } = LocalAnswer.safeParse(JSON.parse(text))
  if (answer === undefined)
    throw new ShoalError('internal', 'unsupported response from shoald; update shoal')
  if ('error' in answer) throw new ShoalError('conflict', answer.error)
  return answer
}

const exchange = async (stateDir: string, line: string): Promise<string | undefined> => {
  let folder: number | undefined
  try {
    folder = openSync(stateDir, 'r')
    const socket = connect(`/proc/self/fd/${folder}/${ESTOP_SOCKET}`)
    socket.setTimeout(ANSWER_MS, () => socket.destroy(new Error(`no answer in ${ANSWER_MS} ms`)))
    await once(socket, 'connect')
    socket.write(line)
    let text = ''
    for await (const chunk of socket.setEncoding('utf8')) {
      text += chunk
      if (text.length > MAX_ANSWER_BYTES) break
    }
    return text
  } catch (cause) {
    if (NOBODY.includes((cause as NodeJS.ErrnoException).code ?? '')) return undefined
    const message = `cannot reach the daemon of ${stateDir}: ${(cause as Error).message}`
    throw new ShoalError('cell_unavailable', message, { cause })
  } finally {
    if (folder !== undefined) closeSync(folder)
  }
}
