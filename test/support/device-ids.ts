import { createDeviceId } from '../../devices/device-id.ts'

/** Ids of devices that a test needs no more of. */
export const ARM = createDeviceId('arm')
export const ROVER_ID = createDeviceId('rover')
export const GHOST = createDeviceId('ghost')
export const IDLE = createDeviceId('idle')
export const [DEV_A, DEV_B] = [createDeviceId('a'), createDeviceId('b')]
