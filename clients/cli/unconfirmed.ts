import type { ErrorCode } from '../../shared/errors.ts'
import { escapeHidden } from '../../shared/visible.ts'
import type { Api } from './api.ts'
import { GuidedError } from './describe-failure.ts'
import type { Estop, KnownAnswer } from './known-answer.ts'
import { commandError, type SentCommand, waitForCommand } from './sent-command.ts'

/** Commands that bring a device to rest. */
const STOPS = ['stop', 'hold', 'land']

interface CellFacts {
  name: string
  isConnected: boolean
}

/**
 * Error for an answer that has arrived although a device may still move: a command without a success,
 * or an e-stop that a cell has not confirmed. Undefined for every other answer.
 */
export const findUnconfirmed = async (
  api: Pick<Api, 'get'>,
  known: KnownAnswer,
): Promise<GuidedError | undefined> => {
  if (known.kind === 'unreadable') return describeUnreadable()
  if (known.kind === 'estop') return describeEstop(known.value)
  if (known.kind !== 'device_command') return undefined
  return known.value.state === 'succeeded' ? undefined : describeCommand(api, known.value)
}

const describeUnreadable = (): GuidedError =>
  new GuidedError(
    'internal',
    'NOT confirmed: the answer of the coordinator cannot be read',
    OWN_STOP,
  )

type DeviceCommand = SentCommand & {
  cell_id?: string
  device_id?: string
  expires_at?: string
  reason?: string | null
  message?: string | null
}

const describeCommand = async (
  api: Pick<Api, 'get'>,
  command: DeviceCommand,
): Promise<GuidedError> => {
  const { verb, state, message, reason, cell_id = 'its cell' } = command
  const end = commandError(command)
  const cell = await factsOf(api, cell_id)
  const code: ErrorCode = end ?? (cell.isConnected ? 'request_timeout' : 'cell_unavailable')
  const why = message ?? reason
  const said = `${verb} is ${state}${why == null ? '' : ` (${why})`}`
  const hasArrived = state === 'executing'
  const steps = [
    ...(end === undefined && !hasArrived && !cell.isConnected
      ? [describeLateDelivery(command)]
      : []),
    ...(STOPS.includes(verb) || (hasArrived && !cell.isConnected) ? [OWN_STOP] : []),
    ...describeOutcome(command),
  ]
  const away = cell.isConnected ? '' : ', which is not connected'
  return new GuidedError(code, `NOT confirmed by ${cell.name}${away}: ${said}`, steps.join('\n'))
}

/** Commands that show the outcome of a command and, once it has ended, the device. */
const describeOutcome = (command: DeviceCommand): string[] => {
  const { id, device_id } = command
  if (commandError(command) === undefined)
    return [`${waitForCommand(command)} waits for the outcome`]
  return [
    `shoal commands show ${escapeHidden(id)} shows it`,
    ...(device_id === undefined
      ? []
      : [`shoal devices show ${escapeHidden(device_id)} shows the device as it is now`]),
  ]
}

const describeLateDelivery = ({ expires_at }: DeviceCommand): string => {
  const until = expires_at === undefined ? '' : ` before ${escapeHidden(expires_at)}`
  return `the cell gets it if it connects${until}`
}

/** Advice to stop a device without the coordinator. */
const OWN_STOP =
  'the device may still move: use its own emergency stop, or run on the machine of the cell: shoald estop'

/** Warning for a call that brings devices to rest and has no answer yet. */
export const LATE_STOP = `NOT confirmed yet: ${OWN_STOP}`

/** Name of a cell and whether it is connected; its id where the coordinator does not say. */
const factsOf = async (api: Pick<Api, 'get'>, cellId: string): Promise<CellFacts> => {
  const path = `/v1/cells/${encodeURIComponent(cellId)}`
  const found = await api.get(path).catch(() => ({}))
  const { name, presence } = (found ?? {}) as { name?: string | null; presence?: string }
  return { name: name ?? cellId, isConnected: !AWAY.includes(presence ?? '') }
}

const AWAY = ['dead', 'stopped', 'suspect', 'unknown']

/** Most cells that an error names. */
const MAX_NAMED = 10

const describeEstop = ({ also = [], cells, released_at }: Estop): GuidedError | undefined => {
  const missing = [cells, ...also.map(one => one.cells)].flatMap(one => one.missing)
  if (missing.length === 0) return undefined
  const named = missing.slice(0, MAX_NAMED).map(({ name, cell_id, is_connected, is_supported }) => {
    const why = is_connected ? (is_supported ? 'no answer yet' : 'no e-stop') : 'not connected'
    return `${name ?? cell_id} (${why})`
  })
  const more = missing.length - named.length
  const all = [...named, ...(more > 0 ? [`${more} more`] : [])].join(', ')
  const isReleased = released_at !== null
  const steps = [
    ...(isReleased ? [STILL_STOPPED] : stepsAfterStop(missing)),
    'shoal devices estops shows the stops in force and the cells that have confirmed them',
  ]
  const what = isReleased ? 'the release' : 'the e-stop'
  return new GuidedError('cell_unavailable', `${what} is NOT confirmed by ${all}`, steps.join('\n'))
}

const STILL_STOPPED =
  'the devices stay stopped until the cell confirms; the release is resent until then'

const stepsAfterStop = (missing: Estop['cells']['missing']): string[] => [
  ...(missing.some(cell => cell.is_supported)
    ? ['it is in force, and is sent again until the cell confirms it or connects']
    : []),
  ...(missing.some(cell => !cell.is_supported)
    ? ['a cell without e-stops needs a newer shoald']
    : []),
  OWN_STOP,
]
