// not undici: of an upgrade that is refused it does not give the body
import http from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import { ShoalError } from '../../shared/errors.ts'
import { REPLICA_ID } from '../../shared/ids.ts'
import { readCapability } from '../../shared/wire/capability.ts'
import {
  HEADER_BOOT_ID,
  HEADER_CAPABILITY,
  HEADER_LINKED,
  HEADER_PROBE,
  HEADER_REPLICA,
} from '../../shared/wire/link.ts'
import { formatLinked } from '../../shared/wire/replicas.ts'
import { basic } from '../ask.ts'
import { coordinatorPath } from '../coordinator-url.ts'
import { credentialOf } from '../identity.ts'
import type { OwnIdentity } from '../own-identity.ts'
import { createUnreachableError, readRefusalError } from '../refusal.ts'

interface DialOptions {
  /** Address of the coordinator. */
  url: string
  path: string
  /** Name of the protocol in the Upgrade header. */
  protocol: string
  identity: Pick<OwnIdentity, 'cell_id' | 'credential' | 'next_credential' | 'coordinator_ca'> &
    Partial<Pick<OwnIdentity, 'boot_id'>>
  /** True to only test the connection: the coordinator then closes it. */
  probe?: boolean
  /** Ids of the coordinators that must refuse, because this plane is connected to them already. */
  linked?: readonly string[]
  /** Longest time until the coordinator has switched protocols. */
  timeoutSeconds: number
  signal: AbortSignal
}

interface DialledSocket {
  socket: Socket
  /** Id of the coordinator that answered; undefined for an older one, which is the only one. */
  replica: string | undefined
  /** Capability level of that coordinator. */
  capability: number
}

/**
 * Opens a connection to the coordinator's HTTP port and switches it to another protocol (RFC 9110,
 * 7.8). A refusal is a ShoalError with the coordinator's code and words.
 */
export const dial = async (options: DialOptions): Promise<DialledSocket> => {
  const target = coordinatorPath(options.url, options.path)
  try {
    return await upgrade(target, options)
  } catch (cause) {
    throw createUnreachableError(target, cause)
  }
}

const upgrade = (target: URL, options: DialOptions): Promise<DialledSocket> =>
  new Promise((resolve, reject) => {
    const request = open(target, options)
    const stop = () => request.destroy(new Error('stopped'))
    const stopLate = () =>
      request.destroy(new Error(`no answer within ${options.timeoutSeconds} s`))
    const deadline = setTimeout(stopLate, options.timeoutSeconds * 1000)
    options.signal.addEventListener('abort', stop)
    request.on('close', () => {
      clearTimeout(deadline)
      options.signal.removeEventListener('abort', stop)
    })
    request.on('error', reject)
    request.on('response', response => readRefusalError(response).then(reject, reject))
    request.on('upgrade', (response, socket, head) => {
      clearTimeout(deadline)
      options.signal.removeEventListener('abort', stop)
      if (response.headers.upgrade?.toLowerCase() === options.protocol)
        return resolve({
          socket: prepareSocket(socket as Socket, head),
          replica: replicaOf(response),
          capability: readCapability(response.headers[HEADER_CAPABILITY]),
        })
      socket.destroy()
      reject(
        new ShoalError('upgrade_required', `the coordinator does not speak ${options.protocol}`),
      )
    })
    if (options.signal.aborted) stop()
    request.end()
  })

const replicaOf = ({ headers }: http.IncomingMessage): string | undefined => {
  const id = headers[HEADER_REPLICA]
  return typeof id === 'string' && REPLICA_ID.test(id) ? id : undefined
}

const open = (
  target: URL,
  { protocol, identity, probe, linked = [] }: DialOptions,
): http.ClientRequest =>
  (target.protocol === 'https:' ? https : http).request(target, {
    agent: false,
    ...(identity.coordinator_ca !== undefined && { ca: identity.coordinator_ca }),
    headers: {
      connection: 'Upgrade',
      upgrade: protocol,
      authorization: basic(identity.cell_id, credentialOf(identity)),
      ...(probe && { [HEADER_PROBE]: '1' }),
      ...(linked.length > 0 && { [HEADER_LINKED]: formatLinked(linked) }),
      ...(identity.boot_id !== undefined && { [HEADER_BOOT_ID]: identity.boot_id }),
    },
  })

/** Prepares the socket; `head` is what the peer has already sent in the new protocol. */
const prepareSocket = (socket: Socket, head: Buffer): Socket => {
  if (head.length > 0) socket.unshift(head)
  socket.setNoDelay(true)
  socket.setTimeout(0)
  return socket
}
