import type { Json } from '../../profile.ts'

/* Headers of messages (std_msgs/msg/Header). The tool writes the time of each message in place of
   the word `now` (set_message_fields of rosidl_runtime_py, since Humble): a plan has no time. */

const STAMPED = /Stamped$/

export const createHeader = (frame_id: string): Record<string, Json> => ({
  stamp: 'now',
  frame_id,
})

/** Adds the time to the data of a stamped message that has no header. */
export const addStamp = (
  msg_type: string,
  data: Readonly<Record<string, Json>>,
): Record<string, Json> =>
  STAMPED.test(msg_type) && data.header === undefined
    ? { header: { stamp: 'now' }, ...data }
    : { ...data }
