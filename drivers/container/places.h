/* Where the pieces of a boundary lie in the runtime's own mount namespace, on a tmpfs that no
 * other process sees: the bundle names them, launch.c puts them there. */
#ifndef BULKHEAD_DRIVERS_CONTAINER_PLACES_H
#define BULKHEAD_DRIVERS_CONTAINER_PLACES_H

/* FHS 3.0, 3.12: every host has it, and nothing that a runtime needs is below it. */
#define BH_PLACE           "/mnt"
#define BH_PLACE_BUNDLE    BH_PLACE "/bundle"  /* config.json */
#define BH_PLACE_STATE     BH_PLACE "/state"   /* the runtime's */
#define BH_PLACE_ROOT      BH_PLACE "/root"    /* copy of the root template */
#define BH_PLACE_SCRATCH   BH_PLACE "/scratch" /* with tmp/ and, when ephemeral, workspace/ */
#define BH_PLACE_TMP       BH_PLACE "/tmp"
#define BH_PLACE_SHM       BH_PLACE "/shm"
#define BH_PLACE_WORKSPACE BH_PLACE "/workspace"

#endif
