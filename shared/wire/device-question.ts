/** Path prefix of questions about devices, up to the name: `/device/mavlink-status`. */
export const DEVICE_QUESTION_PATH = '/device/'
