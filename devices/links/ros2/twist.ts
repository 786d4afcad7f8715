import * as z from 'zod'
import type { Json } from '../../profile.ts'
import { createPublish, type Ros2Operation } from './operations.ts'

/** Types of messages that move a base. */
export const TwistType = z.enum(['geometry_msgs/msg/Twist', 'geometry_msgs/msg/TwistStamped'])
export type TwistType = z.infer<typeof TwistType>

/** Velocity of a base: forward along its x axis, and turning to the left. */
export interface Velocity {
  linear_m_s: number
  angular_rad_s: number
}

const STANDSTILL: Velocity = { linear_m_s: 0, angular_rad_s: 0 }

/** Message for a velocity (REP 103: metres, radians, x forward, z up). */
export const createTwist = (
  msg_type: TwistType,
  { linear_m_s, angular_rad_s }: Velocity,
): Record<string, Json> => {
  const twist = {
    linear: { x: linear_m_s, y: 0, z: 0 },
    angular: { x: 0, y: 0, z: angular_rad_s },
  }
  return msg_type === 'geometry_msgs/msg/TwistStamped' ? { twist } : twist
}

/** Publishes a velocity of zero. */
export const createRest = (drive: { topic: string; msg_type: TwistType }): Ros2Operation =>
  createPublish(drive, createTwist(drive.msg_type, STANDSTILL))
