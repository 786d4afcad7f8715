import { setTimeout as sleep } from 'node:timers/promises'
import { ShoalError } from '../../../shared/errors.ts'
import type { AskedLog } from '../../asked-log.ts'
import type { Json } from '../../profile.ts'
import type { Ros2RobotConfig } from './config.ts'
import { computeTimeoutMs, isMotion, isRead, type Ros2Operation } from './operations.ts'
import type { Ros2Cli } from './ros2-cli.ts'
import { createRest } from './twist.ts'

/** Longest wait for the confirmation of a stop. */
const STOP_TIMEOUT_MS = 450

/** Controls one robot: the newest instruction replaces the one before. */
export class RobotControl {
  readonly #cli: Pick<Ros2Cli, 'run'>
  readonly #robot: Ros2RobotConfig
  #turn = new AbortController()

  constructor(cli: Pick<Ros2Cli, 'run'>, robot: Ros2RobotConfig) {
    this.#cli = cli
    this.#robot = robot
  }

  /** Runs operations in order. A motion that does not end by itself is followed by the rest. */
  async execute(
    operations: readonly Ros2Operation[],
    log: AskedLog,
    aborted: AbortSignal,
  ): Promise<Json> {
    const turn = this.#beginTurn()
    const signal = AbortSignal.any([aborted, turn.signal])
    const outputs: string[] = []
    for (const [index, operation] of operations.entries())
      try {
        // what follows a motion brings the robot to rest, whatever happens meanwhile
        const isRest = operations.slice(0, index).some(isMotion)
        outputs.push(await this.#ask(operation, log, isRest ? undefined : signal))
      } catch (error) {
        const isNewest = this.#turn === turn
        if (isMotion(operation) && isNewest) await this.#finish(operations.slice(index + 1), log)
        throw error
      }
    return operations.some(isRead)
      ? { message: outputs.join('') }
      : { published: operations.length }
  }

  /**
   * Ends the motion that runs, and publishes a velocity of zero.
   * @throws ShoalError when the robot has not received it within 450 ms; the attempt goes on
   */
  async stop(log: AskedLog): Promise<void> {
    this.#beginTurn()
    const over = new AbortController()
    const rest = this.#ask(createRest(this.#robot.drive), log).finally(() => over.abort())
    const late = sleep(STOP_TIMEOUT_MS, true, { signal: over.signal }).catch(() => false)
    if ((await Promise.race([rest, late])) !== true) return
    rest.catch(() => {})
    throw new ShoalError(
      'request_timeout',
      `${this.#robot.name} did not confirm zero velocity within ${STOP_TIMEOUT_MS} ms; its motion ` +
        'has ended, and the velocity is still being published',
    )
  }

  #beginTurn(): AbortController {
    const reason = `${this.#robot.name} received a newer command before it had finished`
    this.#turn.abort(new ShoalError('conflict', reason))
    this.#turn = new AbortController()
    return this.#turn
  }

  /** Brings the robot to rest after a motion that was cut; the error of the motion counts. */
  async #finish(operations: readonly Ros2Operation[], log: AskedLog): Promise<void> {
    for (const operation of operations) await this.#ask(operation, log).catch(() => {})
  }

  /** The answer is that of the tool: a subscriber was there, and the messages were published. */
  async #ask(operation: Ros2Operation, log: AskedLog, signal?: AbortSignal): Promise<string> {
    let output = ''
    await log.ask(nameOperation(operation), async () => {
      output = await this.#run(operation, signal)
      return isRead(operation) ? 'read' : 'published'
    })
    return output
  }

  #run(operation: Ros2Operation, signal?: AbortSignal): Promise<string> {
    const timeoutMs = computeTimeoutMs(operation)
    return this.#cli.run(
      operation.argv,
      signal === undefined ? { timeoutMs } : { timeoutMs, signal },
    )
  }
}

/** Action and topic: `pub /cmd_vel`. */
const nameOperation = ({ argv }: Ros2Operation): string =>
  `${argv[1]} ${argv.find(word => word.startsWith('/')) ?? ''}`.trim()
