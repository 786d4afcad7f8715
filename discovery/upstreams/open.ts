import { join } from 'node:path'
import type { JudgeRules } from '../../shared/outbound/judge.ts'
import { type Resolve, systemResolve } from '../../shared/outbound/resolve.ts'
import { type Wait, wait } from '../../shared/wait.ts'
import { AnswerCache } from './answer-cache.ts'
import { DiskCache } from './disk-cache.ts'
import { createDnsResolver } from './dns-resolver.ts'
import { HostLimits } from './host-limits.ts'
import { createHttpTransport } from './http-transport.ts'
import { createReadKey } from './read-key.ts'
import { Upstreams, type UpstreamsParts } from './upstreams.ts'
import { createWhoisTransport } from './whois-transport.ts'

interface OpenUpstreamsParts
  extends Pick<UpstreamsParts, 'readSettings' | 'admit' | 'onAnswer' | 'onRequest'> {
  /** Folder of this process for answers and limits. */
  folder: string
  cacheBytes: number
  /** What may be asked of hosts that nobody configured. */
  rules: JudgeRules
  /** Unix milliseconds. */
  now: () => number
  countCoordinators(): number
  /** Receives each failure of the disk. */
  onFault(error: unknown): void
  resolve?: Resolve
  /** Authorities beside the system's, PEM. */
  ca?: string
  wait?: Wait
  random?: () => number
}

/** Opens the client of outside sources with its cache and limits on disk. */
export const openUpstreams = async (parts: OpenUpstreamsParts): Promise<Upstreams> => {
  const { readSettings, rules, ca, onFault, now, resolve = systemResolve } = parts
  const folder = join(parts.folder, 'answers')
  const http = createHttpTransport({ rules, resolve, ...(ca === undefined ? {} : { ca }) })
  const disk = await DiskCache.open({ folder, maxBytes: parts.cacheBytes, onFault })
  return new Upstreams({
    ...parts,
    cache: new AnswerCache(disk),
    limits: await HostLimits.open({ ...parts, now }),
    transports: {
      'https:': http,
      'http:': http,
      'unix:': http,
      'whois:': createWhoisTransport({ rules, resolve }),
    },
    resolver: createDnsResolver({
      listServers: () => (readSettings().sources.dns?.servers ?? []) as string[],
      isOffline: () => readSettings().egress === 'off',
    }),
    readKey: createReadKey(readSettings),
    wait: parts.wait ?? wait,
    random: parts.random ?? Math.random,
  })
}
