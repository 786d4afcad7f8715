import * as z from 'zod'
import type { Json } from '../../profile.ts'
import { FrameId, TopicName } from './names.ts'
import { createPublish, type Ros2Operation } from './operations.ts'
import { createHeader } from './stamp.ts'

/** Types of messages that move a base. */
const TwistType = z.enum(['geometry_msgs/msg/Twist', 'geometry_msgs/msg/TwistStamped'])

/** Topic of the velocity of a base. */
export const Drive = z.strictObject({
  topic: TopicName.default('/cmd_vel'),
  msg_type: TwistType.default('geometry_msgs/msg/Twist'),
  frame_id: FrameId.default('base_link').describe('Frame of a TwistStamped: that of the base.'),
})
export type Drive = z.infer<typeof Drive>

/** Velocity of a base: forward along its x axis, and turning to the left. */
export interface Velocity {
  linear_m_s: number
  angular_rad_s: number
}

const STANDSTILL: Velocity = { linear_m_s: 0, angular_rad_s: 0 }

/** Message for a velocity (REP 103: metres, radians, x forward, z up). */
export const createTwist = (
  { msg_type, frame_id }: Pick<Drive, 'msg_type' | 'frame_id'>,
  { linear_m_s, angular_rad_s }: Velocity,
): Record<string, Json> => {
  const twist = {
    linear: { x: linear_m_s, y: 0, z: 0 },
    angular: { x: 0, y: 0, z: angular_rad_s },
  }
  // controllers drop a command without a time as too old (cmd_vel_timeout of diff_drive_controller)
  return msg_type === 'geometry_msgs/msg/TwistStamped'
    ? { header: createHeader(frame_id), twist }
    : twist
}

/** Publishes a velocity of zero. */
export const createRest = (drive: Drive): Ros2Operation =>
  createPublish(drive, createTwist(drive, STANDSTILL))
