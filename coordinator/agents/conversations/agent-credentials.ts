import { readFile } from 'node:fs/promises'
import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import {
  type AllowedTarget,
  allowsTarget,
  parseAllowed,
} from '../../../shared/outbound/allow-list.ts'
import type { Target } from '../../../shared/outbound/judge.ts'

/**
 * Credential that this service presents to one external agent; the secret itself is kept in a file
 * or environment variable.
 */
export const AgentCredential = z
  .strictObject({
    agent: z
      .string()
      .max(300)
      .refine(text => !text.includes('/') && parseAllowed(text) !== undefined, {
        error: 'is not host:port or address:port ([…]:port for IPv6)',
      })
      .describe('Host and port of the agent: it is sent there and nowhere else.'),
    path: z
      .string()
      .max(300)
      .regex(/^(\/[A-Za-z0-9._~-]+)*$/, 'is not a path such as /agents/a')
      .refine(path => !/\/\.\.?(\/|$)/.test(path), 'has a step up')
      .default('')
      .describe('Below it are its card and its routes, where several agents share a host.'),
    token_file: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe('File with the token, read for each message: a new one needs no restart.'),
    token_env: z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'is not the name of an environment variable')
      .optional()
      .describe('Environment variable with the token, instead of a file.'),
    header: z
      .string()
      .regex(/^(authorization|api-key|x-[a-z0-9-]{1,60})$/i, 'is not authorization, api-key or x-…')
      .default('authorization')
      .describe('Header it is sent in: as `Bearer` in authorization, as it is in any other.'),
  })
  .refine(({ token_file, token_env }) => (token_file === undefined) !== (token_env === undefined), {
    error: 'needs token_file or token_env, one of them',
  })
export type AgentCredential = z.output<typeof AgentCredential>

export interface AgentCredentials {
  /**
   * Returns the headers for a request to `url`, which is the card at `cardUrl` or an address named
   * by it; empty for an agent without a credential. Both addresses must belong to the agent: users
   * choose the address of a card, and the author of a card chooses that of its routes. Throws
   * `config_invalid` when the credential cannot be read.
   */
  headersFor(target: Place, url: string, cardUrl: string): Promise<Record<string, string>>
}

type Place = Pick<Target, 'host' | 'port' | 'literal'>

/** Paths of an agent's card: A2A 1.0 and 0.3, A2A 0.2. */
const CARDS = ['/.well-known/agent-card.json', '/.well-known/agent.json']

const isOwn = (path: string, url: string, cardUrl: string): boolean => {
  const [route, card] = [URL.parse(url), URL.parse(cardUrl)]
  if (route === null || card === null || route.origin !== card.origin) return false
  return (
    CARDS.some(place => card.pathname === `${path}${place}`) &&
    route.pathname.startsWith(path === '' ? '/' : `${path}/`)
  )
}

/** Characters of a token: those of a header value (RFC 9110, 5.5) without blanks. */
const TOKEN = /^[\x21-\x7e]{1,8192}$/

/**
 * Opens the credentials and reads each once, so that a missing one is reported at the start. Throws
 * `config_invalid`.
 */
export const openAgentCredentials = async (
  configured: readonly AgentCredential[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<AgentCredentials> => {
  const known = configured.map(each => ({ ...each, place: placeOf(each) }))
  const headers = async (each: AgentCredential): Promise<Record<string, string>> => {
    const token = await read(each, env)
    const isBearer = each.header.toLowerCase() === 'authorization'
    return { [each.header.toLowerCase()]: isBearer ? `Bearer ${token}` : token }
  }
  for (const each of known) await headers(each)
  return {
    headersFor: async (target, url, cardUrl) => {
      const found = known.find(
        ({ place, path }) => allowsTarget(place, target) && isOwn(path, url, cardUrl),
      )
      return found === undefined ? {} : headers(found)
    },
  }
}

const placeOf = ({ agent }: AgentCredential): AllowedTarget[] => {
  const place = parseAllowed(agent)
  return place === undefined ? [] : [place]
}

const read = async (
  { agent, token_file, token_env = '' }: AgentCredential,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> => {
  const text =
    token_file === undefined ? env[token_env] : await readFile(token_file, 'utf8').catch(() => '')
  const token = (text ?? '').trim()
  if (TOKEN.test(token)) return token
  const where = token_file === undefined ? `variable ${token_env}` : 'its file'
  throw new ShoalError(
    'config_invalid',
    `the credential of agent ${agent}: ${where} has no token`,
    {
      param: 'conversations.agent_credentials',
    },
  )
}
