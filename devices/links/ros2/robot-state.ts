import * as z from 'zod'
import { readDocument } from '../../../shared/foreign/read-document.ts'
import type { PropertyValue } from '../../../shared/wire/device.ts'
import type { Ros2RobotConfig } from './config.ts'
import type { TypedTopic } from './names.ts'

/** Fraction of the charge; NaN while the robot does not know it (`sensor_msgs/msg/BatteryState`). */
const BatteryState = z.object({ percentage: z.number().or(z.nan()) })

const Point = z.object({ x: z.number(), y: z.number() })
const Odometry = z.object({
  pose: z.object({ pose: z.object({ position: Point }) }),
  twist: z.object({ twist: z.object({ linear: Point }) }),
})

type Readings = Readonly<Record<string, PropertyValue>>

/** A topic that a robot publishes its state on. */
export interface StateTopic extends TypedTopic {
  /** Rejects when the text is not a message of this type. */
  read(text: string): Promise<Readings>
}

/** First message of the output of `ros2 topic echo`, which separates messages by `---`. */
const parseMessage = (text: string): Promise<unknown> =>
  readDocument(Buffer.from(text.split('\n---', 1)[0] ?? ''), { format: 'yaml' })

const readBattery = async (text: string): Promise<Readings> => {
  const { percentage } = BatteryState.parse(await parseMessage(text))
  const isKnown = percentage >= 0 && percentage <= 1
  return { battery_percent: isKnown ? Math.round(percentage * 1000) / 10 : null }
}

const readPose = async (text: string): Promise<Readings> => {
  const { pose, twist } = Odometry.parse(await parseMessage(text))
  const { x, y } = pose.pose.position
  return { x_m: x, y_m: y, speed_m_s: Math.hypot(twist.twist.linear.x, twist.twist.linear.y) }
}

/** Topics that give the readings of a robot. */
export const listStateTopics = ({ battery, pose }: Ros2RobotConfig): StateTopic[] => [
  ...(battery === undefined
    ? []
    : [{ topic: battery, msg_type: 'sensor_msgs/msg/BatteryState', read: readBattery }]),
  ...(pose === undefined
    ? []
    : [{ topic: pose, msg_type: 'nav_msgs/msg/Odometry', read: readPose }]),
]
