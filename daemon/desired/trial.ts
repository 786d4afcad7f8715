import { isDeepStrictEqual } from 'node:util'
import {
  MAX_ERRORS,
  type ReceivedSettings,
  type ReportedBody,
  type ReportedState,
} from '../../shared/wire/desired.ts'
import { checkDocument, overlay, type SettingFault } from './settings.ts'

/** Trouble at the end of the probation that is shorter, such as a reconnect, does not count. */
const LASTING_MS = 15_000
/** Time after a change in which an engine may still be loading. */
const LOADING_MS = 600_000

/** Settings requested by the coordinator. */
export interface WantedSettings {
  version: number
  /** Members that this build can read. */
  document: Record<string, unknown>
  /** Members in force that this build cannot read: they are kept until they are received again. */
  unread?: Record<string, unknown>
}

/** Sources of the settings: the cell's own file and the coordinator's request. */
interface Basis {
  local: ReceivedSettings
  wanted: WantedSettings
}

/** Newest request that is not in force, or only in part, with the reason. */
export interface TrialFailure {
  wanted: WantedSettings
  state: Extract<ReportedState, 'refused' | 'rolled_back'>
  errors: SettingFault[]
}

export interface TrialState {
  /** Settings that were last proven. */
  good: Basis
  /** Settings in force but not yet proven. */
  trial?: { basis: Basis; untilMs: number }
  failure?: TrialFailure
}

/** Services that ran before the trial and do not run now. */
export interface Trouble {
  what: string
  lastsMs: number
  /** True while an engine is loading. */
  isLoading: boolean
}

export type Event =
  /** `untilMs` is the end of the probation of what it changes. */
  | { type: 'desired'; wanted: WantedSettings; untilMs: number }
  /** The cell's own file was read again. */
  | { type: 'reload'; local: ReceivedSettings; untilMs: number }
  | { type: 'tick'; nowMs: number; trouble: Trouble | undefined }
  | { type: 'not applied'; message: string }

export interface TrialStep {
  state: TrialState
  /** Settings to bring into force now. */
  apply?: ReceivedSettings
}

/** One step of the trial of new settings: pure, so that every order of events can be tried. */
export const step = (state: TrialState, event: Event): TrialStep => {
  if (event.type === 'desired') return startTrial(state, event.wanted, event.untilMs)
  if (event.type === 'reload') return reload(state, event.local, event.untilMs)
  if (event.type === 'not applied') return rollBack(state, event.message)
  return tick(state, event.trouble, event.nowMs)
}

const tick = (state: TrialState, trouble: Trouble | undefined, nowMs: number): TrialStep => {
  const { trial, failure } = state
  if (trial === undefined || nowMs < trial.untilMs) return { state }
  if (trouble === undefined) return { state: { good: trial.basis, ...(failure && { failure }) } }
  const mayHeal = trouble.isLoading && nowMs < trial.untilMs + LOADING_MS
  if (mayHeal || trouble.lastsMs < LASTING_MS) return { state }
  return rollBack(state, trouble.what)
}

/** Applies the cell's own file; a rejected request of the coordinator stays rejected. */
const reload = (state: TrialState, local: ReceivedSettings, untilMs: number): TrialStep => {
  const { state: next, ...rest } = attempt(state, { ...current(state), local }, untilMs)
  return { state: { ...next, ...(state.failure && { failure: state.failure }) }, ...rest }
}

/** True when only the cell's own file is on trial. */
export const isOwnTrial = ({ good, trial }: TrialState): boolean =>
  trial !== undefined && isSame(trial.basis.wanted, good.wanted)

const current = ({ good, trial }: TrialState): Basis => trial?.basis ?? good

export const settingsIn = (basis: Basis): ReceivedSettings =>
  overlay(basis.local, basis.wanted.document)

const startTrial = (state: TrialState, wanted: WantedSettings, untilMs: number): TrialStep => {
  if (isSame(wanted, current(state).wanted)) return { state: withoutRefusal(state, wanted) }
  if (isSame(wanted, state.failure?.wanted)) return { state }
  const { local, wanted: before } = current(state)
  const { readable, faults } = checkDocument(wanted.document)
  if (faults.length === 0) return attempt(state, { local, wanted }, untilMs)
  const failure: TrialFailure = { wanted, state: 'refused', errors: faults }
  if (Object.keys(readable).length === 0) return { state: { ...state, failure } }
  // a member that cannot be read stays as it was: limits of devices must not vanish with it
  const document = { ...pickMembers(before.document, wanted.document), ...readable }
  const kept = pickMembers(before.unread ?? {}, wanted.document)
  const unread = Object.entries(kept).filter(([member]) => !Object.hasOwn(readable, member))
  const partly = { version: wanted.version, document, ...keepUnread(Object.fromEntries(unread)) }
  const next = attempt(state, { local, wanted: partly }, untilMs)
  return { ...next, state: { ...next.state, failure } }
}

/** The coordinator now wants what is in force: a refused part of that version is not wanted any more. */
const withoutRefusal = (state: TrialState, { version }: WantedSettings): TrialState => {
  const { failure, ...rest } = state
  const isWithdrawn = failure?.state === 'refused' && failure.wanted.version === version
  return isWithdrawn ? rest : state
}

/** The member `unread` of settings; none when all members could be read. */
export const keepUnread = (unread: Record<string, unknown>): Pick<WantedSettings, 'unread'> =>
  Object.keys(unread).length === 0 ? {} : { unread }

/** True when limits of the coordinator are in force that this build cannot read. */
export const hasUnreadLimits = ({ unread = {} }: WantedSettings): boolean =>
  Object.hasOwn(unread, 'envelopes')

/** Members of a document that another one names, too. */
const pickMembers = (document: object, named: object): object =>
  Object.fromEntries(Object.entries(document).filter(([member]) => Object.hasOwn(named, member)))

/** Starts a trial, unless nothing changes or the settings held before. */
const attempt = (state: TrialState, basis: Basis, untilMs: number): TrialStep => {
  const before = settingsIn(current(state))
  const after = settingsIn(basis)
  const isUnchanged =
    isSame(before, after) && isSame(current(state).wanted.unread, basis.wanted.unread)
  const apply = isUnchanged ? {} : { apply: after }
  // models need no probation: each has its own process, and one that fails says why
  if (isSame(withoutModels(after), withoutModels(settingsIn(state.good))))
    return { state: { good: basis }, ...apply }
  if (isSame(before, after) && state.trial)
    return { state: { good: state.good, trial: { ...state.trial, basis } }, ...apply }
  return { state: { good: state.good, trial: { basis, untilMs } }, ...apply }
}

const rollBack = (state: TrialState, message: string): TrialStep => {
  const { good, trial, failure } = state
  if (trial === undefined) return { state }
  // a failure of another version has nothing to do with this trial
  const isRelated = failure?.wanted.version === trial.basis.wanted.version || isOwnTrial(state)
  const related = isRelated ? failure : undefined
  const faults = related?.state === 'refused' ? related.errors : []
  const errors = [{ key: '', message: message.slice(0, 300) }, ...faults].slice(0, MAX_ERRORS)
  // the request as it was sent, faulty members included: it would be tried again otherwise
  const { wanted } = related ?? trial.basis
  const rolledBack: TrialFailure = { wanted, state: 'rolled_back', errors }
  return { state: { good, failure: rolledBack }, apply: settingsIn(good) }
}

const isSame = (a: unknown, b: unknown): boolean => isDeepStrictEqual(a, b)

export const reportOf = (state: TrialState): ReportedBody => {
  const { good, trial, failure } = state
  const basis = current(state)
  return {
    desired_version: Math.max(basis.wanted.version, failure?.wanted.version ?? 0),
    applied_version: basis.wanted.version,
    state: trial ? 'probation' : (failure?.state ?? 'applied'),
    errors: failure?.errors ?? [],
    settings: withoutModels(settingsIn(trial ? trial.basis : good)) as ReportedBody['settings'],
  }
}

/** Settings as they are reported, too; the models are in the report of the engines. */
const withoutModels = ({ models: _, ...settings }: ReceivedSettings): ReceivedSettings => settings
