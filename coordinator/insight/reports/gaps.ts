import type { FrameworkReport } from '../../access/gates/compliance/report.ts'
import type { Gates } from '../../access/gates/definition.ts'
import { isPresent, type Presence } from '../../fleet/cells/presence.ts'
import type { EnrolledCell } from '../../fleet/enrolment/cell.ts'
import type { Role } from '../../kernel/declaration/key.ts'
import type { BackupStanding } from './backup-standing.ts'

export const GAP_AREAS = ['models', 'cells', 'roles', 'evidence', 'backups'] as const
type GapArea = (typeof GAP_AREAS)[number]

/** Something that was declared and is not there. */
interface Gap {
  area: GapArea
  id: string
  declared: string
  found: string
  remedy: string
}

export interface GapFacts {
  /** Models of the catalogue, and whether a cell serves them. */
  models: readonly { id: string; served: boolean }[]
  cells: readonly Pick<EnrolledCell, 'id' | 'revokedAt' | 'quarantinedAt'>[]
  presenceOf: (cellId: string) => Presence | undefined
  gates: Gates
  /** Persons who can approve: with a key of kind person that is neither revoked nor disabled. */
  approvers: readonly { personId: string; roles: readonly Role[] }[]
  frameworks: readonly FrameworkReport[]
  backups: BackupStanding
}

interface GapReport {
  /** Number of declared things by area. */
  declared: Record<GapArea, number>
  gaps: Gap[]
}

/** Compares what was declared with what is there. */
export const findGaps = (facts: GapFacts): GapReport => {
  const enrolled = facts.cells.filter(({ revokedAt }) => revokedAt === undefined)
  const controls = facts.frameworks.flatMap(({ framework, controls }) =>
    controls
      .filter(({ state }) => state !== 'not_applicable')
      .map(control => ({ framework, ...control })),
  )
  return {
    declared: {
      models: facts.models.length,
      cells: enrolled.length,
      roles: Object.keys(facts.gates).length,
      evidence: controls.length,
      backups: 1,
    },
    gaps: [
      ...facts.models.flatMap(gapOfModel),
      ...enrolled.flatMap(cell => gapOfCell(cell, facts.presenceOf(cell.id))),
      ...Object.entries(facts.gates).flatMap(([id, gate]) =>
        gapOfGate(id, gate.approvals, facts.approvers),
      ),
      ...controls.flatMap(gapOfControl),
      ...gapOfBackups(facts.backups),
    ],
  }
}

const gapOfModel = ({ id, served }: GapFacts['models'][number]): Gap[] =>
  served
    ? []
    : [
        {
          area: 'models',
          id,
          declared: 'in the catalogue',
          found: 'no cell that takes requests serves it',
          remedy: 'Give a cell its weights, resume drained cells, or remove it from the catalogue.',
        },
      ]

const gapOfCell = (
  { id, quarantinedAt }: GapFacts['cells'][number],
  presence: Presence = 'unknown',
): Gap[] => {
  if (quarantinedAt !== undefined)
    return [
      {
        area: 'cells',
        id,
        declared: 'enrolled',
        found: 'in quarantine',
        remedy: `Find the copy of its identity, then: shoal cells release ${id}.`,
      },
    ]
  if (isPresent(presence)) return []
  const isStopped = presence === 'stopped'
  return [
    {
      area: 'cells',
      id,
      declared: 'enrolled',
      found: isStopped ? 'shut down' : `not connected (${presence})`,
      remedy: `${isStopped ? 'Start shoald' : 'Run shoald doctor'} on the machine, or shoal cells revoke ${id}.`,
    },
  ]
}

/** A gate needs a different person for each of its approvals. */
const gapOfGate = (
  id: string,
  approvals: readonly (readonly Role[])[],
  approvers: GapFacts['approvers'],
): Gap[] => {
  if (canFill(approvals, approvers)) return []
  const roles = approvals.map(seat => seat.join(' or ')).join(', and ')
  return [
    {
      area: 'roles',
      id,
      declared: `${approvals.length === 1 ? 'an approver' : 'different approvers'}: ${roles}`,
      found: 'not enough persons with these roles and a key of their own',
      remedy: 'Issue a key of kind person with the missing role.',
    },
  ]
}

/** True when each seat can be given to a person of its own. */
const canFill = (
  [seat, ...rest]: readonly (readonly Role[])[],
  people: GapFacts['approvers'],
): boolean =>
  seat === undefined ||
  people.some(
    ({ personId, roles }) =>
      roles.some(role => seat.includes(role)) &&
      canFill(
        rest,
        people.filter(other => other.personId !== personId),
      ),
  )

const gapOfControl = (control: {
  framework: string
  id: string
  title: string
  state: string
  open: readonly string[]
}): Gap[] =>
  control.state === 'evidence_found'
    ? []
    : [
        {
          area: 'evidence',
          id: `${control.framework}/${control.id}`,
          declared: control.title,
          found: control.open.join('; ') || control.state,
          remedy: `Close the open points, or declare evidence under compliance: ${control.framework}/${control.id}.`,
        },
      ]

const gapOfBackups = ({ state, remedy }: BackupStanding): Gap[] =>
  remedy === undefined
    ? []
    : [
        {
          area: 'backups',
          id: 'backup',
          declared: 'a verified backup of at most 26 hours',
          found: state,
          remedy,
        },
      ]
