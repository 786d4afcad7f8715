import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { errorBody, httpStatus, ShoalError } from '../../shared/errors.ts'
import { closeWithLinger } from '../../shared/lingering-close.ts'
import { HEADER_JUDGE } from '../../shared/wire/link.ts'
import type { Service } from '../service.ts'
import type { Handle } from './link.ts'

const ADDRESS = '127.0.0.1'
const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i

/**
 * Serves the same API to programs on this machine, without a key. Web pages opened on this machine
 * must not reach it: neither by DNS rebinding nor from another origin.
 */
export const localService = (port: number, handle: Handle): Service => ({
  name: 'local server',
  start: async ({ signal, fail }) => {
    const server = createServer({ headersTimeout: 10_000, requestTimeout: 60_000 })
    server.maxConnections = 256
    closeWithLinger(server)
    server.on('request', (request, response) => {
      const fault = faultOf(request)
      // Headers reserved for the coordinator
      delete request.headers[HEADER_JUDGE]
      if (fault) refuse(response, fault)
      else handle(request, response)
    })
    server.listen(port, ADDRESS)
    await once(server, 'listening').catch(cause => {
      throw new ShoalError(
        'address_in_use',
        `cannot listen on ${ADDRESS}:${port}; choose another with local.port`,
        { cause },
      )
    })
    server.on('error', fail)
    signal.addEventListener('abort', () => {
      server.close()
      server.closeAllConnections()
    })
    if (signal.aborted) server.close()
  },
})

const faultOf = ({ headers }: IncomingMessage): ShoalError | undefined => {
  if (!LOOPBACK.test(headers.host ?? ''))
    return new ShoalError('host_not_allowed', 'this server answers for loopback names only')
  const { origin } = headers
  if (origin !== undefined && !LOOPBACK.test(origin.replace(/^https?:\/\//, '')))
    return new ShoalError('forbidden', 'this server rejects pages of other origins')
  return undefined
}

const refuse = (response: ServerResponse, fault: ShoalError): void => {
  response.writeHead(httpStatus(fault.code), {
    'content-type': 'application/json',
    connection: 'close',
  })
  response.end(JSON.stringify(errorBody(fault)))
}
