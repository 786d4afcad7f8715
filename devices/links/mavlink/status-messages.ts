import { defineMessage } from './message.ts'

/* Messages about the health of a vehicle and its streams, from `common.xml` and `ardupilotmega.xml`. */

export const SYSTEM_TIME = defineMessage(2, 'SYSTEM_TIME', 137, {
  time_unix_usec: 'uint64_t',
  time_boot_ms: 'uint32_t',
})

/** Older way to ask for streams, in groups. */
export const REQUEST_DATA_STREAM = defineMessage(66, 'REQUEST_DATA_STREAM', 148, {
  req_message_rate: 'uint16_t',
  target_system: 'uint8_t',
  target_component: 'uint8_t',
  req_stream_id: 'uint8_t',
  start_stop: 'uint8_t',
})

export const FENCE_STATUS = defineMessage(
  162,
  'FENCE_STATUS',
  189,
  {
    breach_time: 'uint32_t',
    breach_count: 'uint16_t',
    breach_status: 'uint8_t',
    breach_type: 'uint8_t',
    breach_mitigation: 'uint8_t',
  },
  1,
)

/** State of the position filter of ArduPilot. */
export const EKF_STATUS_REPORT = defineMessage(
  193,
  'EKF_STATUS_REPORT',
  71,
  {
    velocity_variance: 'float',
    pos_horiz_variance: 'float',
    pos_vert_variance: 'float',
    compass_variance: 'float',
    terrain_alt_variance: 'float',
    flags: 'uint16_t',
    airspeed_variance: 'float',
  },
  1,
)

/** State of the position filter of PX4. */
export const ESTIMATOR_STATUS = defineMessage(230, 'ESTIMATOR_STATUS', 163, {
  time_usec: 'uint64_t',
  vel_ratio: 'float',
  pos_horiz_ratio: 'float',
  pos_vert_ratio: 'float',
  mag_ratio: 'float',
  hagl_ratio: 'float',
  tas_ratio: 'float',
  pos_horiz_accuracy: 'float',
  pos_vert_accuracy: 'float',
  flags: 'uint16_t',
})

export const EXTENDED_SYS_STATE = defineMessage(245, 'EXTENDED_SYS_STATE', 130, {
  vtol_state: 'uint8_t',
  landed_state: 'uint8_t',
})

export const STATUS_MESSAGES = [
  SYSTEM_TIME,
  REQUEST_DATA_STREAM,
  FENCE_STATUS,
  EKF_STATUS_REPORT,
  ESTIMATOR_STATUS,
  EXTENDED_SYS_STATE,
]
