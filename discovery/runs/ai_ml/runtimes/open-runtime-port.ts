import type { HttpTarget } from '../../../net/http-probe.ts'
import { RuntimePort } from './runtime-port.ts'

/** Words of servers that got plain HTTP at a port of TLS. */
const WANTS_TLS = /https/i

/**
 * Finds out whether a port speaks HTTP, with TLS or without; undefined when it speaks neither. A
 * port with another protocol is asked twice at most.
 */
export const openRuntimePort = async (
  target: Omit<HttpTarget, 'isTls'>,
): Promise<RuntimePort | undefined> => {
  const isTlsPort = target.port === 443 || target.port === 8443
  const first = new RuntimePort({ ...target, isTls: isTlsPort })
  const reply = await first.get('/')
  const isWrong = reply === undefined || (reply.status === 400 && WANTS_TLS.test(reply.text))
  if (!isWrong) return first
  const second = new RuntimePort({ ...target, isTls: !isTlsPort })
  return (await second.get('/')) === undefined ? undefined : second
}
