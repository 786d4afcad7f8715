import type { CheckSubject, DoctorCheck, NamedCheckReport } from './check.ts'
import { engine } from './engine-check.ts'
import {
  broker,
  certificate,
  coordinator,
  coordinators,
  identity,
  link,
  selfChecks,
} from './fleet-checks.ts'
import { devices, disk, gpus, spool, weights } from './machine-checks.ts'
import { bluetooth, wifi } from './radio-checks.ts'

/** Every check, in the order in which one thing leans on another. */
const checksFor = (subject: CheckSubject): Record<string, DoctorCheck> => ({
  identity,
  coordinator,
  certificate,
  ...selfChecks(subject),
  broker,
  link,
  coordinators,
  gpus,
  engine,
  weights,
  disk,
  spool,
  devices,
  bluetooth,
  wifi,
})

/** Runs all checks; an unreachable coordinator ends those that need it. */
export async function* examineCell(subject: CheckSubject): AsyncGenerator<NamedCheckReport> {
  let reached = true
  for (const [name, check] of Object.entries(checksFor(subject))) {
    if (!reached && NEEDS_COORDINATOR.has(name)) {
      yield { name, state: 'skip', says: 'the coordinator cannot be reached' }
      continue
    }
    const finding = await check(subject).catch(
      (error: Error) =>
        ({ state: 'fail', says: error.message, remedy: 'see docs/cells.md' }) as const,
    )
    if (name === 'coordinator') reached = finding.state === 'ok'
    yield { name, ...finding }
  }
}

const NEEDS_COORDINATOR: ReadonlySet<string> = new Set([
  'certificate',
  'credential',
  'signing key',
  'clock',
  'broker',
  'link',
])
