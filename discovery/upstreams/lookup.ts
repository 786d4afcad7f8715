import type {
  UpstreamSource,
  UpstreamWarning,
  UpstreamWarningCode,
} from '../../shared/wire/findings.ts'
import type { LookupContext, LookupSettings } from '../lookup-run.ts'
import type { UpstreamAnswer, UpstreamError, UpstreamRequest } from './client.ts'
import type { DnsResolver } from './dns-resolver.ts'

/** A run of a lookup, with what its answer lists beside the data. */
export interface OpenLookup {
  context: LookupContext
  sources: readonly UpstreamSource[]
  warnings: readonly UpstreamWarning[]
}

interface LookupParts {
  ask(request: UpstreamRequest, onStale: (error: UpstreamError) => void): Promise<UpstreamAnswer>
  settings: LookupSettings
  resolver: DnsResolver
  searchEntities: LookupContext['searchEntities']
  now: () => number
  signal: AbortSignal
}

const MAX_SOURCES = 64
const MAX_WARNINGS = 32
const MAX_MESSAGE_CHARACTERS = 500

export const openLookup = ({
  ask,
  settings,
  resolver,
  searchEntities,
  now,
  signal,
}: LookupParts): OpenLookup => {
  const sources: UpstreamSource[] = []
  const warnings: UpstreamWarning[] = []
  const warn = (code: UpstreamWarningCode, message: string, source?: string): void => {
    const isKnown = warnings.some(each => each.code === code && each.message === message)
    if (isKnown || warnings.length === MAX_WARNINGS) return
    const text = message.slice(0, MAX_MESSAGE_CHARACTERS)
    warnings.push({ code, message: text, ...(source === undefined ? {} : { source }) })
  }
  const context: LookupContext = {
    signal,
    now,
    settings,
    resolver,
    searchEntities,
    warn,
    ask: async request => {
      const { name } = request.source
      const answer = await ask(request, ({ message }) =>
        warn('stale_data', `an older answer is used, because ${message}`, name),
      )
      const isListed = sources.some(({ url }) => url === answer.source.url)
      if (!isListed && sources.length < MAX_SOURCES) sources.push(answer.source)
      return answer
    },
  }
  return { context, sources, warnings }
}
