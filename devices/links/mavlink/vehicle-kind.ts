/** Autopilots whose modes and commands are known here. */
export type Autopilot = 'ardupilot' | 'px4'

/** Vehicles that are controlled in the same way: one firmware of ArduPilot, one airframe of PX4. */
export type VehicleClass = 'copter' | 'rover' | 'plane' | 'sub'

/** Autopilot and class of a vehicle: together they decide what its modes and commands mean. */
export interface VehicleKind {
  autopilot: Autopilot
  vehicleClass: VehicleClass
  /** True for a plane that can hover: a quadplane or another VTOL aircraft. */
  canHover: boolean
}

/** `MAV_AUTOPILOT` of `minimal.xml`. */
const AUTOPILOTS: Readonly<Record<number, Autopilot>> = { 3: 'ardupilot', 12: 'px4' }

/** `MAV_TYPE` of `minimal.xml`; 19 to 25 are VTOL aircraft, 43 is a generic multirotor. */
const CLASSES: Readonly<Record<VehicleClass, readonly number[]>> = {
  copter: [2, 3, 4, 13, 14, 15, 29, 35, 43],
  rover: [10, 11],
  plane: [1, 19, 20, 21, 22, 23, 24, 25],
  sub: [12],
}
const FIRST_VTOL = 19

/**
 * Kind of a vehicle by the type and the autopilot of its heartbeat; undefined for one that can only be
 * read. PX4 has no mode in which a submarine holds its place (`src/modules/uuv_*`).
 */
export const findVehicleKind = (type: number, autopilot: number): VehicleKind | undefined => {
  const name = AUTOPILOTS[autopilot]
  const entry = Object.entries(CLASSES).find(([, types]) => types.includes(type))
  if (name === undefined || entry === undefined) return undefined
  const vehicleClass = entry[0] as VehicleClass
  if (name === 'px4' && vehicleClass === 'sub') return undefined
  const canHover = vehicleClass === 'copter' || (vehicleClass === 'plane' && type >= FIRST_VTOL)
  return { autopilot: name, vehicleClass, canHover }
}
