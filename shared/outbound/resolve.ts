import { lookup } from 'node:dns/promises'
import { ShoalError } from '../errors.ts'
import { type JudgeRules, judgeAddress, type Target } from './judge.ts'
import { SendError } from './send-error.ts'

export interface Address {
  address: string
  family: number
}

/** Every address of a name. */
export type Resolve = (host: string) => Promise<Address[]>

/** The system's own way, its hosts file included. */
export const systemResolve: Resolve = host => lookup(host, { all: true })

/**
 * Resolves and checks the addresses of a target. A single address that is not public rejects all of
 * them, since a mix is an attempt to have us pick it. Throws SendError.
 */
export const checkAddresses = async (
  { host, port, literal, trusted }: Target,
  rules: JudgeRules,
  resolve: Resolve,
): Promise<Address[]> => {
  const found = literal
    ? [{ address: host, family: host.includes(':') ? 6 : 4 }]
    : await ask(host, resolve)
  try {
    for (const { address } of found) judgeAddress(address, port, rules, trusted)
  } catch (error) {
    if (!(error instanceof ShoalError)) throw error
    throw new SendError('refused', error.message, { cause: error })
  }
  return found
}

const ask = async (host: string, resolve: Resolve): Promise<Address[]> => {
  const found = await resolve(host).catch(cause => {
    throw new SendError('not_resolved', `${host} has no address`, { cause })
  })
  if (found.length === 0) throw new SendError('not_resolved', `${host} has no address`)
  return found
}
