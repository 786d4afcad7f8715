import type { DeviceState } from '../../../shared/wire/device.ts'
import type { Ros2RobotConfig } from './config.ts'
import { toAbsoluteTopic } from './names.ts'
import { createRead } from './operations.ts'
import { RobotControl } from './robot-control.ts'
import { listStateTopics, type StateTopic } from './robot-state.ts'
import type { Ros2Cli } from './ros2-cli.ts'

/** Wait for a message of a state; a topic that is silent must not hold up the round. */
const READ_TIMEOUT_MS = 5000

/** A robot: its newest readings, and whether its topics are there. */
export class RobotUnit {
  readonly deviceId: string
  readonly config: Ros2RobotConfig
  readonly control: RobotControl
  readonly #cli: Pick<Ros2Cli, 'run'>
  readonly #readings: DeviceState['readings'] = {}
  #seenAt: number | null = null
  /** Reason why it is not available; undefined when it is. */
  fault: string | undefined = 'its topics have not been read yet'

  constructor(deviceId: string, config: Ros2RobotConfig, cli: Pick<Ros2Cli, 'run'>) {
    this.deviceId = deviceId
    this.config = config
    this.control = new RobotControl(cli, config)
    this.#cli = cli
  }

  get state(): DeviceState {
    return { device_id: this.deviceId, seen_at: this.#seenAt, readings: { ...this.#readings } }
  }

  /** Looks for its topics among those of the graph, and reads its states. `now` is a wall clock. */
  async observe(
    topics: ReadonlySet<string>,
    now: () => number,
    signal: AbortSignal,
  ): Promise<void> {
    const { topic } = this.config.drive
    const isThere = topics.has(toAbsoluteTopic(topic))
    this.fault = isThere ? undefined : `no node of the ROS 2 graph uses ${topic}`
    if (!isThere) return
    this.#seenAt = now()
    for (const stateTopic of listStateTopics(this.config))
      if (topics.has(toAbsoluteTopic(stateTopic.topic)))
        await this.#read(stateTopic, now, signal).catch(() => {})
  }

  /** A topic without a message in time, or with another one, leaves the reading to age. */
  async #read(
    { read, ...topic }: StateTopic,
    now: () => number,
    signal: AbortSignal,
  ): Promise<void> {
    const { argv } = createRead(topic)
    const text = await this.#cli.run(argv, { signal, timeoutMs: READ_TIMEOUT_MS })
    const readings = await read(text)
    const at = now()
    for (const [name, value] of Object.entries(readings)) this.#readings[name] = { value, at }
  }
}
