import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { chmod, rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import type { Logger } from 'pino'
import { answerLocalRequest } from './answer-request.ts'
import type { CellEstop } from './cell-estop.ts'
import { ESTOP_SOCKET, type LocalAnswer, LocalRequest, MAX_REQUEST_BYTES } from './local-request.ts'

interface LocalSocketParts {
  stateDir: string
  estop: CellEstop
  /** Closes the socket. */
  signal: AbortSignal
  logger: Pick<Logger, 'warn'>
}

const MAX_CONNECTIONS = 8
const REQUEST_MS = 5000

/**
 * Opens the socket through which root and the owner of the state folder engage and release stops,
 * whatever the state of the coordinator. The caller holds the lock of the folder.
 */
export const openEstopSocket = async (parts: LocalSocketParts): Promise<void> => {
  const { stateDir, signal } = parts
  const folder = openSync(stateDir, 'r')
  // the name of a socket has at most 107 bytes (unix(7)), and folder paths may be longer
  const path = `/proc/self/fd/${folder}/${ESTOP_SOCKET}`
  const close = (server?: Server): void => {
    server?.close()
    closeSync(folder)
  }
  try {
    await rm(path, { force: true })
    const server = createServer(socket => void serve(socket, parts)).unref()
    server.maxConnections = MAX_CONNECTIONS
    server.listen(path)
    await once(server, 'listening')
    await chmod(path, 0o600)
    if (signal.aborted) close(server)
    else signal.addEventListener('abort', () => close(server), { once: true })
  } catch (error) {
    close()
    throw error
  }
}

const serve = async (socket: Socket, parts: LocalSocketParts): Promise<void> => {
  socket.on('error', () => {})
  socket.setTimeout(REQUEST_MS, () => socket.destroy())
  const answer = await answerLine(await readLine(socket), parts)
  socket.end(`${JSON.stringify(answer)}\n`)
}

/** Reads up to the first line end; text without one, or longer than the limit, is no request. */
const readLine = async (socket: Socket): Promise<string> => {
  let text = ''
  try {
    for await (const chunk of socket.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
      text += chunk
      if (text.includes('\n') || text.length > MAX_REQUEST_BYTES) break
    }
  } catch {
    return ''
  }
  return text.slice(0, Math.max(0, text.indexOf('\n')))
}

const answerLine = async (
  line: string,
  { estop, logger }: LocalSocketParts,
): Promise<LocalAnswer> => {
  try {
    return await answerLocalRequest(estop, LocalRequest.parse(JSON.parse(line)))
  } catch (error) {
    const reason = (error as Error).message.slice(0, 1000)
    logger.warn({ reason: reason.slice(0, 300) }, 'local e-stop request refused')
    return { error: reason }
  }
}
