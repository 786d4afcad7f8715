import { isDeepStrictEqual } from 'node:util'
import { isIdOfCell } from '../../../devices/device-id.ts'
import type { EventDraft } from '../../kernel/events/bus.ts'
import type { Device } from './device.table.ts'
import type { DeviceClaim } from './device-cell.table.ts'

interface Judgement {
  /** The device now; undefined where nothing about it has changed. */
  device: Device | undefined
  /** Events of the change. */
  events: EventDraft[]
  /** Change of the cell that the device belongs to; undefined where it stays. */
  takeOver?: TakeOver | undefined
}

/** A device that another cell has taken over. */
export interface TakeOver {
  device: Device
  from: string
  /** `offline` when the cell before is known to be away, `withdrawn` when it no longer announces it. */
  reason: 'offline' | 'withdrawn'
}

interface Inputs {
  id: string
  /** The device as it was reported last; undefined for a new one. */
  before: Device | undefined
  claims: readonly DeviceClaim[]
  isConnected: (cellId: string) => boolean
  /** True for a cell that is known to be away, not only silent. */
  isGone: (cellId: string) => boolean
  /** Unix milliseconds. */
  now: number
}

const NOTHING: Judgement = { device: undefined, events: [] }

/** Decides what a device is now, from the cells that announce it, and which events that makes. */
export const judgeDevice = (inputs: Inputs): Judgement => {
  const { id, before, claims, now } = inputs
  const [owner, ...others] = rankClaims(inputs)
  if (owner === undefined) return removeDevice(before, now)
  const { cellId, kind, facts } = owner
  const isAvailable = facts.available && inputs.isConnected(cellId)
  const alsoOn = others.map(other => other.cellId)
  const device: Device = {
    id,
    cellId,
    alsoOn,
    kind,
    facts,
    isAvailable,
    labels: before?.labels ?? {},
    firstSeen: before?.firstSeen ?? Math.min(...claims.map(({ since }) => since)),
    changedAt: now,
    goneAt: undefined,
  }
  const takeOver = findTakeOver(before, device, claims)
  const taken = takeOver ? [eventOf('taken_over', device, describeTakeOver(takeOver))] : []
  if (before === undefined || before.goneAt !== undefined)
    return { device, events: [eventOf('added', device), ...taken], takeOver }
  if (isDeepStrictEqual({ ...before, changedAt: now }, device)) return NOTHING
  return { device, events: [...taken, ...listChanges(before, device)], takeOver }
}

const findTakeOver = (
  before: Device | undefined,
  device: Device,
  claims: readonly DeviceClaim[],
): TakeOver | undefined => {
  if (before === undefined || before.cellId === device.cellId) return undefined
  const isClaimed = claims.some(({ cellId }) => cellId === before.cellId)
  return { device, from: before.cellId, reason: isClaimed ? 'offline' : 'withdrawn' }
}

/** Facts of a take-over for its event and the audit. */
export const describeTakeOver = ({ device, from, reason }: TakeOver) => ({
  from_cell_id: from,
  to_cell_id: device.cellId,
  reason,
})

/**
 * Claims in order of precedence. The cell that has the device keeps it until it is known to be away,
 * not only silent. Among the others, the connected one that has announced it longest comes first.
 */
const rankClaims = (inputs: Inputs): DeviceClaim[] => {
  const { before, isConnected, isGone } = inputs
  const isKept = (cellId: string): boolean => cellId === before?.cellId && !isGone(cellId)
  return listRightful(inputs).sort(
    (a, b) =>
      Number(isKept(b.cellId)) - Number(isKept(a.cellId)) ||
      Number(isConnected(b.cellId)) - Number(isConnected(a.cellId)) ||
      Number(b.cellId === before?.cellId) - Number(a.cellId === before?.cellId) ||
      a.since - b.since ||
      (a.cellId < b.cellId ? -1 : 1),
  )
}

/**
 * Claims that count. An id that a cell has made of itself is bound to that cell, also while it is away
 * or announces the device no more: another one could only have copied it.
 */
const listRightful = ({ id, before, claims }: Inputs): DeviceClaim[] => {
  const known = before === undefined ? claims : [...claims, before]
  const maker = known.find(({ cellId, facts }) => isIdOfCell(id, cellId, facts.name))
  return claims.filter(({ cellId }) => maker === undefined || cellId === maker.cellId)
}

const removeDevice = (before: Device | undefined, now: number): Judgement => {
  if (before === undefined || before.goneAt !== undefined) return NOTHING
  const device = { ...before, alsoOn: [], isAvailable: false, changedAt: now, goneAt: now }
  return { device, events: [eventOf('removed', device)] }
}

const listChanges = (before: Device, device: Device): EventDraft[] => {
  const changes = listChangedNames(before, device)
  return [
    ...(before.isAvailable === device.isAvailable
      ? []
      : [eventOf(device.isAvailable ? 'available' : 'unavailable', device)]),
    ...(changes.length === 0 ? [] : [eventOf('changed', device, { changes })]),
  ]
}

/** Names of what has changed, apart from availability, which has its own events. */
const listChangedNames = (before: Device, device: Device): string[] => {
  const earlier = nameFacts(before)
  return Object.entries(nameFacts(device))
    .filter(([name, value]) => !isDeepStrictEqual(value, earlier[name]))
    .map(([name]) => name)
}

const nameFacts = ({ facts, kind, cellId, alsoOn }: Device): Readonly<Record<string, unknown>> => {
  const { available: _, reason: _reason, ...others } = facts
  return { ...others, kind, cell_id: cellId, also_on: alsoOn }
}

type Happening = 'taken_over' | 'added' | 'removed' | 'available' | 'unavailable' | 'changed'

export const eventOf = (what: Happening, device: Device, more: object = {}): EventDraft => ({
  type: `shoal.device.${what}`,
  subject: device.id,
  data: {
    name: device.facts.name,
    cell_id: device.cellId,
    profile: device.facts.profile,
    site: device.facts.site,
    available: device.isAvailable,
    ...more,
  },
})
