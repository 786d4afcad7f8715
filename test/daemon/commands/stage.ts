import type { JudgeParts } from '../../../daemon/commands/judge.ts'
import type { StoppableDevices } from '../../../daemon/estop/stoppable-devices.ts'
import type { Command, Hazard } from '../../../shared/wire/command.ts'
import type { PlanPart } from '../../../shared/wire/plan-part.ts'
import type { HistoryDevice } from './history-steps.ts'

/** Hears of what runs; its promises tell how each run ends. */
export interface StageLife {
  onRun(command: Command): Promise<null>
  onStop(command: Command): Promise<null>
  /** Finds the command that runs now among those that match. */
  findRunning(isSame: (command: Command) => boolean): Command | undefined
}

/** A command of a history, without what every command has. */
export interface StagedCommand {
  target: Pick<Command, 'device_id' | 'verb' | 'params' | 'hazard'>
  /** Part that an approval must cover. */
  part: PlanPart
}

/** What the commands of a history act on; it outlives the daemon. */
export interface Stage {
  cellId: string
  /** Opens what a new life of the daemon executes. */
  open(life: StageLife): Pick<JudgeParts, 'verbs' | 'devices'> & { stoppable: StoppableDevices }
  /** Chooses a verb; `number` tells its use from all others. */
  create(act: 'do' | 'stop', hazard: Hazard, device: HistoryDevice, number: number): StagedCommand
  /** Lets the devices go on for a moment. */
  passTime(): void
  /** True while a device moves, whatever it shows of that; absent where devices do not move. */
  isMoving?(deviceId: string): boolean
}

/** `now` is the cell's own clock, in unix milliseconds. */
export type CreateStage = (clock: { now: () => number }) => Stage
