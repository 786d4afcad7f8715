import type { ErrorReason } from './error-reasons.ts'
import { type ErrorDetails, ShoalError } from './errors.ts'
import type { Named } from './references.ts'

interface KindFacts {
  /** Input field that mostly names such an object. */
  param: string
  /** Command that lists the existing objects; absent where there is none. */
  list?: string
}

/** Kinds of objects that callers name by an id or a name. */
const KINDS = {
  alert: { param: 'alert_id', list: 'shoal alerts list' },
  'audit row': { param: 'seq', list: 'shoal audit query' },
  cell: { param: 'cell_id', list: 'shoal cells list' },
  command: { param: 'command_id', list: 'shoal commands list' },
  conversation: { param: 'conversation_id', list: 'shoal conversations list' },
  device: { param: 'device_id', list: 'shoal devices list' },
  'device, cell or site': { param: 'target', list: 'shoal devices list' },
  'e-stop': { param: 'estop_id', list: 'shoal devices estops' },
  entity: { param: 'entity_id', list: 'shoal discover list' },
  flow: { param: 'flow', list: 'shoal flows list' },
  formation: { param: 'formation_id', list: 'shoal swarm list' },
  gate: { param: 'gate_id', list: 'shoal gates list' },
  hook: { param: 'hook_id' },
  job: { param: 'job_id', list: 'shoal queue list' },
  'join token': { param: 'token_id', list: 'shoal tokens list' },
  key: { param: 'key_id', list: 'shoal keys list' },
  layer: { param: 'layer_id', list: 'shoal graph layers' },
  message: { param: 'before' },
  model: { param: 'model', list: 'shoal models list' },
  module: { param: 'modules' },
  node: { param: 'node_id', list: 'shoal graph nodes' },
  'peer session': { param: 'peer_session_id' },
  person: { param: 'person_id', list: 'shoal persons list' },
  pin: { param: 'pin_id', list: 'shoal discover pins' },
  policy: { param: 'number', list: 'shoal policy history' },
  record: { param: 'id', list: 'shoal registers list' },
  register: { param: 'register', list: 'shoal registers kinds' },
  request: { param: 'request_id', list: 'shoal gates requests' },
  run: { param: 'run_id', list: 'shoal flows runs' },
  schedule: { param: 'name' },
  session: { param: 'session_id', list: 'shoal sessions list' },
  site: { param: 'site', list: 'shoal devices list' },
  skill: { param: 'skill_id', list: 'shoal skills list' },
  source: { param: 'source' },
  task: { param: 'task_id', list: 'shoal tasks list' },
  tenant: { param: 'tenant_id', list: 'shoal tenants list' },
  webhook: { param: 'webhook_id', list: 'shoal webhooks list' },
} as const satisfies Record<string, KindFacts>

type ReferenceKind = keyof typeof KINDS

/** Limit of the objects that an error names. */
export const MAX_CANDIDATES = 10

/** Lists names and ids of possible matches. */
export const listCandidates = (
  found: readonly Named[],
  whereOf?: (at: number) => string,
): string => {
  const shown = found.slice(0, MAX_CANDIDATES).map(({ id, name }, at) => {
    const where = whereOf === undefined ? id : `${id} ${whereOf(at)}`
    return name === undefined ? where : `${name} (${where})`
  })
  const more = found.length - shown.length
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

interface UnknownDetails extends Pick<ErrorDetails, 'param' | 'next'> {
  /** Names and ids of possible matches. */
  candidates?: string
  /** Place of the search, as the message names it: `on cell_1`. */
  where?: string
  /** Advice at the end of the message. */
  hint?: string
}

/** Error for a reference that names nothing, with the command that lists what exists. */
export const createUnknownError = (
  kind: ReferenceKind,
  reference: string | number,
  details: UnknownDetails = {},
): ShoalError => {
  const { list, param }: KindFacts = KINDS[kind]
  const { candidates = '', where, hint } = details
  const choice = candidates === '' ? undefined : `write the whole name or an id: ${candidates}`
  const what = [`no ${kind} ${reference}`, where].filter(isGiven).join(' ')
  const isModel = kind === 'model'
  return new ShoalError(
    isModel ? 'model_not_found' : 'not_found',
    [what, choice, hint].filter(isGiven).join('; '),
    {
      reason: isModel ? 'model_unknown' : 'name_unknown',
      param: details.param ?? param,
      ...nextOf(details.next ?? list),
    },
  )
}

const isGiven = (text: string | undefined): text is string => text !== undefined

/** Reasons of ambiguous references; that of devices is older than the common one. */
const AMBIGUOUS: Partial<Record<ReferenceKind, ErrorReason>> = { device: 'device_ambiguous' }

/** Error for a reference that names several objects, with the candidates. */
export const createAmbiguousError = (
  kind: ReferenceKind,
  reference: string,
  { count, candidates }: { count: number; candidates: string },
  { param }: Pick<ErrorDetails, 'param'> = {},
): ShoalError => {
  const facts: KindFacts = KINDS[kind]
  return new ShoalError(
    'conflict',
    `${reference} matches ${count} ${kind}s: ${candidates}; use an id`,
    {
      reason: AMBIGUOUS[kind] ?? 'name_ambiguous',
      param: param ?? facts.param,
      ...nextOf(facts.list),
    },
  )
}

const nextOf = (next: string | undefined): ErrorDetails => (next === undefined ? {} : { next })
