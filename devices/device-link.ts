import type { Logger } from 'pino'
import type { CommandProgress } from '../shared/wire/command.ts'
import type { DeviceState, EstopBehaviour, LinkKind } from '../shared/wire/device.ts'
import type { DeviceOutcome } from '../shared/wire/device-outcome.ts'
import type { SafetyEnvelope } from '../shared/wire/safety-envelope.ts'
import type { DeviceProfile, Json } from './profile.ts'

/** A device that a link reaches, configured or found. */
export interface LinkedDevice {
  /** Stable, see `createDeviceId`. */
  deviceId: string
  name: string
  profile: DeviceProfile
  /** Site that the configuration names for it; that of the cell when absent. */
  site?: string
  available: boolean
  /** Reason why it is not available or not writable, for people. */
  reason?: string
  writable: boolean
  /** Addressing for the plans, without secrets. */
  options: Readonly<Record<string, Json>>
  /** Limits that the configuration sets for this device. */
  envelope?: SafetyEnvelope
}

/** Services of the cell that a link uses. */
export interface LinkContext {
  cellId: string
  logger: Logger
  /** Unix milliseconds. */
  now: () => number
  /** Monotonic milliseconds. */
  nowMs: () => number
  /**
   * Checked address of a host: every address of a name must be in the scope of the cell. Connect to
   * the result, never to the name again.
   * @throws ShoalError scope_denied
   */
  resolveHost: (host: string, port: number) => Promise<string>
  /** Content of a secret's file, without the line end. */
  readSecret: (path: string) => Promise<string>
  /** Private folder of the links, for what must outlive a restart, such as pinned certificates. */
  stateDir: string
  env: Readonly<Record<string, string | undefined>>
}

export interface ExecuteContext {
  /** Aborts at the time limit, when something urgent overtakes, and at an e-stop. */
  signal: AbortSignal
  report: (progress: Partial<CommandProgress>) => void
  /** Bounds of the plan. */
  bounds: Readonly<Record<string, Json>>
}

export interface StopContext {
  /**
   * True for an order that the cell gives by itself: again, or at the end of a motion. A device that a
   * person has taken over since, also while the daemon was away, is left alone, and the failure has the
   * reason `taken_over`.
   */
  isRepeated?: boolean
  /**
   * Ids of the e-stops that request it. One that this device was never sent makes it a new order.
   */
  estopIds?: readonly string[]
  /** Runs on each new instruction, acknowledgement or observation before the stop resolves. */
  report?: (outcome: DeviceOutcome) => void
}

/** Outcome of a verb; `result` is for the caller, what was observed stands in `seen`. */
export interface Execution extends DeviceOutcome {
  result?: Json
}

/**
 * Connection of a cell to its devices of one kind. It reconnects by itself, and tells by `list` what
 * it reaches; nothing here rejects because a device is away, except `execute` and `stop`.
 */
export interface DeviceLink {
  readonly kind: LinkKind
  /** Begins to connect. Resolves at once; `signal` ends everything and frees all resources. */
  start(signal: AbortSignal): void
  list(): readonly LinkedDevice[]
  /** Newest readings; undefined for a device that is not of this link. */
  readState(deviceId: string): DeviceState | undefined
  /** Calls back when the list or a reading has changed. Returns how to stop that. */
  onChange(listener: () => void): () => void
  /**
   * Sends exactly these operations, which its own profile planned, and resolves when the device has
   * done them: `seen` is `reached` or `at_rest` where the link can observe that, and `unknown` where
   * it cannot. When the signal aborts, the device is told to rest, and the outcome of the failure
   * has what was observed then.
   * @throws DeviceFailure with what was asked and observed; ShoalError before anything was sent
   */
  execute(
    deviceId: string,
    operations: readonly Json[],
    context: ExecuteContext,
  ): Promise<Execution>
  /**
   * Brings a device to rest beside whatever runs: own path, no queue, repeatable. Resolves when the
   * device has acknowledged it or is observed at rest; `seen` says which. The caller observes a
   * device that is still moving.
   * @throws DeviceFailure when the device refused, did not answer or does not come to rest
   */
  stop(deviceId: string, behaviour: EstopBehaviour, context?: StopContext): Promise<DeviceOutcome>
}
