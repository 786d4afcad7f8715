import type { HttpTarget } from '../../../net/http-probe.ts'
import { Endpoint } from './endpoint.ts'

/** Words of servers that got plain HTTP at a port of TLS. */
const WANTS_TLS = /https/i

/**
 * Finds out whether a port speaks HTTP, with TLS or without; undefined when it speaks neither. A
 * port with another protocol is asked twice at most.
 */
export const openEndpoint = async (
  target: Omit<HttpTarget, 'isTls'>,
): Promise<Endpoint | undefined> => {
  const isTlsPort = target.port === 443 || target.port === 8443
  const first = new Endpoint({ ...target, isTls: isTlsPort })
  const reply = await first.get('/')
  const isWrong = reply === undefined || (reply.status === 400 && WANTS_TLS.test(reply.text))
  if (!isWrong) return first
  const second = new Endpoint({ ...target, isTls: !isTlsPort })
  return (await second.get('/')) === undefined ? undefined : second
}
