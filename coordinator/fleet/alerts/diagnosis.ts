import { isPresent, type Presence } from '../cells/presence.ts'

export const DIAGNOSIS_RESULTS = ['pass', 'warn', 'fail', 'unknown'] as const
type DiagnosisResult = (typeof DIAGNOSIS_RESULTS)[number]

export interface DiagnosisCheck {
  id: string
  title: string
  result: DiagnosisResult
  /** Observation, in plain words. */
  observed: string
  /** Recommended action; undefined when none is needed. */
  remedy?: string
}

/** Everything the diagnosis is made of. */
export interface Observations {
  /** Reason the store cannot be written; undefined when it can. */
  storeProblem: string | undefined
  /** Space of the file system under the state folder; undefined when it could not be read. */
  disk: { freeBytes: number; totalBytes: number } | undefined
  /** Longest delay of the event loop in the last minutes. */
  loopDelayMs: number
  brokerConnected: boolean
  cells: readonly ObservedCell[]
  /** Every model id of the catalogue, whether a cell serves it, and the drained cells that offer it. */
  models: readonly { id: string; served: boolean; drainedOn?: readonly string[] }[]
  /** Alerts that are raised now. */
  alerts: readonly { level: 'warn' | 'critical'; message: string }[]
  /** Ids of the cells that are kept out because their identity was used twice. */
  quarantined: readonly string[]
  /** The coordinators that live, this one included. */
  replicas: readonly ObservedReplica[]
}

interface ObservedReplica {
  id: string
  version: string
  /** Ids of enrolled cells that are not connected to it. */
  unconnected: readonly string[]
}

interface ObservedCell {
  id: string
  presence: Presence
  linked: boolean
  /** Lead of the cell's clock over the coordinator's; undefined before the cell's first sample. */
  clockAheadMs: number | undefined
}

const DISK_WARN_PERCENT = 10
const DISK_FAIL_PERCENT = 2
const LOOP_WARN_MS = 250
const LOOP_FAIL_MS = 1000
const CLOCK_WARN_MS = 2000

/** Judges what was observed; the worst first is the caller's business. */
export const diagnose = (observations: Observations): DiagnosisCheck[] => [
  checkStore(observations),
  checkDisk(observations),
  checkLoop(observations),
  checkBroker(observations),
  checkCells(observations),
  checkLinks(observations),
  checkModels(observations),
  checkClock(observations),
  checkAlerts(observations),
  checkQuarantine(observations),
  checkReplicas(observations),
]

const checkReplicas = ({ replicas }: Observations): DiagnosisCheck => {
  const check = { id: 'replicas', title: 'The coordinators agree' }
  const versions = new Set(replicas.map(({ version }) => version))
  const partly = listPartlyConnected(replicas)
  const observed = `${replicas.length} live`
  if (versions.size > 1)
    return {
      ...check,
      result: 'warn',
      observed: `${observed}; ${formatNames(replicas.map(({ id, version }) => `${id} runs ${version}`))}`,
      remedy: 'Upgrade the older ones.',
    }
  if (partly.length === 0) return { ...check, result: 'pass', observed }
  return {
    ...check,
    result: 'warn',
    observed: `${observed}; not connected to all of them: ${formatNames(partly)}`,
    remedy:
      'Check that these machines reach every coordinator, or the balancer all of them; an older shoald connects to one only.',
  }
}

/** Cells that some coordinators have and others miss; those that all miss are away. */
const listPartlyConnected = (replicas: readonly ObservedReplica[]): string[] => {
  const missing = new Map<string, number>()
  for (const { unconnected } of replicas)
    for (const id of unconnected) missing.set(id, (missing.get(id) ?? 0) + 1)
  return [...missing].filter(([, count]) => count < replicas.length).map(([id]) => id)
}

const checkAlerts = ({ alerts }: Observations): DiagnosisCheck => {
  const check = { id: 'alerts', title: 'No alert is raised' }
  const [first] = alerts
  if (first === undefined) return { ...check, result: 'pass', observed: 'no alerts' }
  return {
    ...check,
    result: alerts.some(({ level }) => level === 'critical') ? 'fail' : 'warn',
    observed: `${alerts.length} raised: ${first.message}`,
    remedy: 'GET /v1/alerts lists them.',
  }
}

const checkQuarantine = ({ quarantined }: Observations): DiagnosisCheck => {
  const check = { id: 'quarantine', title: 'No identity is used by two machines' }
  if (quarantined.length === 0)
    return { ...check, result: 'pass', observed: 'no cell in quarantine' }
  return {
    ...check,
    result: 'fail',
    observed: `in quarantine: ${quarantined.join(', ')}`,
    remedy: 'Stop the copy, then release the cell: POST /v1/cells/{cell_id}/release.',
  }
}

/** The worst of several: a failure, else a warning, else what is not known. */
export const worstResult = (results: readonly DiagnosisResult[]): DiagnosisResult =>
  (['fail', 'warn', 'unknown'] as const).find(result => results.includes(result)) ?? 'pass'

const checkStore = ({ storeProblem }: Observations): DiagnosisCheck => {
  const check = { id: 'store', title: 'The store can be written' }
  if (storeProblem === undefined) return { ...check, result: 'pass', observed: 'a row was written' }
  return {
    ...check,
    result: 'fail',
    observed: storeProblem,
    remedy:
      'Free space on its disk and check who owns the state folder. If the audit was tampered with, GET /v1/audit/verify shows where.',
  }
}

const checkDisk = ({ disk }: Observations): DiagnosisCheck => {
  const check = { id: 'disk', title: 'The disk of the state folder has room' }
  if (disk === undefined || disk.totalBytes === 0)
    return { ...check, result: 'unknown', observed: 'the file system did not say' }
  const percent = (100 * disk.freeBytes) / disk.totalBytes
  const result =
    percent < DISK_FAIL_PERCENT ? 'fail' : percent < DISK_WARN_PERCENT ? 'warn' : 'pass'
  const observed = `${percent.toFixed(1)} percent free`
  return result === 'pass'
    ? { ...check, result, observed }
    : { ...check, result, observed, remedy: 'Free space, or move state_dir to a larger disk.' }
}

const checkLoop = ({ loopDelayMs }: Observations): DiagnosisCheck => {
  const result = loopDelayMs > LOOP_FAIL_MS ? 'fail' : loopDelayMs > LOOP_WARN_MS ? 'warn' : 'pass'
  const check = {
    id: 'event-loop',
    title: 'The coordinator answers without delay',
    result,
    observed: `longest delay ${Math.round(loopDelayMs)} ms`,
  } as const
  return result === 'pass'
    ? check
    : { ...check, remedy: 'Give the coordinator more CPU; look for other programs on its machine.' }
}

const checkBroker = ({ brokerConnected }: Observations): DiagnosisCheck => {
  const check = { id: 'broker', title: 'The broker is reached' }
  if (brokerConnected) return { ...check, result: 'pass', observed: 'connected' }
  return {
    ...check,
    result: 'fail',
    observed: 'not connected',
    remedy: 'Check that the broker at broker.url runs and takes the coordinator’s password.',
  }
}

const checkCells = ({ cells }: Observations): DiagnosisCheck => {
  const check = { id: 'cells', title: 'No enrolled cell is away' }
  const stopped = cells.filter(cell => cell.presence === 'stopped').map(cell => cell.id)
  const present = cells.filter(cell => isPresent(cell.presence)).length
  const away = cells
    .filter(cell => !isPresent(cell.presence) && cell.presence !== 'stopped')
    .map(cell => cell.id)
  if (cells.length === 0)
    return {
      ...check,
      result: 'warn',
      observed: 'no cell is enrolled',
      remedy: 'Make a join token and start shoald with it.',
    }
  const rest = stopped.length === 0 ? '' : `; stopped: ${formatNames(stopped)}`
  const observed = `${present} of ${cells.length}${rest}`
  if (stopped.length === cells.length)
    return { ...check, result: 'warn', observed, remedy: 'Start shoald on one of the machines.' }
  if (away.length === 0) return { ...check, result: 'pass', observed }
  return {
    ...check,
    result: present === 0 ? 'fail' : 'warn',
    observed: `${observed}; away: ${formatNames(away)}`,
    remedy: 'Run shoald doctor on the machines that are away, or revoke those that are gone.',
  }
}

const checkLinks = ({ cells }: Observations): DiagnosisCheck => {
  const check = { id: 'links', title: 'Every cell that is there has its link' }
  const present = cells.filter(cell => isPresent(cell.presence))
  const without = present.filter(cell => !cell.linked).map(cell => cell.id)
  if (present.length === 0) return { ...check, result: 'unknown', observed: 'no cell is there' }
  const observed = `${present.length - without.length} of ${present.length}`
  if (without.length === 0) return { ...check, result: 'pass', observed }
  return {
    ...check,
    result: without.length === present.length ? 'fail' : 'warn',
    observed: `${observed}; without: ${formatNames(without)}`,
    remedy: 'See the log of shoald; a proxy in between must let the upgrade shoal-link/1 pass.',
  }
}

const checkModels = ({ models }: Observations): DiagnosisCheck => {
  const check = { id: 'models', title: 'Every model of the catalogue has a cell' }
  const unserved = models.filter(model => !model.served)
  const without = unserved.map(model => model.id)
  const drained = [...new Set(unserved.flatMap(({ drainedOn = [] }) => drainedOn))]
  const observed = `${models.length - without.length} of ${models.length}`
  if (without.length === 0) return { ...check, result: 'pass', observed }
  const why = drained.length === 0 ? '' : `; drained: ${formatNames(drained)}`
  return {
    ...check,
    result: without.length === models.length ? 'fail' : 'warn',
    observed: `${observed}; without: ${formatNames(without)}${why}`,
    remedy: unserved.every(({ drainedOn = [] }) => drainedOn.length > 0)
      ? 'Resume the drained cells: shoal cells resume CELL_ID.'
      : 'Give a cell their weights, resume drained cells that have them, or take the models out of the catalogue.',
  }
}

const checkClock = ({ cells }: Observations): DiagnosisCheck => {
  const check = { id: 'clock', title: 'The clocks agree' }
  const known = cells.filter(cell => cell.clockAheadMs !== undefined)
  const off = known.filter(cell => Math.abs(cell.clockAheadMs ?? 0) > CLOCK_WARN_MS)
  if (known.length === 0)
    return { ...check, result: 'unknown', observed: 'no cell reported its time' }
  if (off.length === 0)
    return { ...check, result: 'pass', observed: `${known.length} of ${cells.length} within 2 s` }
  const ours = off.length > 1 && off.length * 2 > known.length
  return {
    ...check,
    result: 'warn',
    observed: `more than 2 s off: ${formatNames(off.map(cell => cell.id))}`,
    remedy: ours
      ? 'Most cells differ, so it may be the clock of this machine: check its NTP.'
      : 'Check NTP on these machines.',
  }
}

const SHOWN = 5

const formatNames = (names: readonly string[]): string =>
  names.length <= SHOWN
    ? names.join(', ')
    : `${names.slice(0, SHOWN).join(', ')} and ${names.length - SHOWN} more`
