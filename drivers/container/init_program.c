/* The file that the build names, taken in by the assembler: as an array in C it would be four
 * megabytes of source. */
#include "drivers/container/init_program.h"

__asm__(".pushsection .rodata.bh_init_program, \"a\"\n"
        ".balign 64\n"
        ".globl bh_init_program, bh_init_program_size\n"
        "bh_init_program:\n"
        ".incbin \"" BH_INIT_PROGRAM "\"\n"
        "0:\n"
        ".balign 8\n"
        "bh_init_program_size:\n"
        ".quad 0b - bh_init_program\n"
        ".popsection\n");
