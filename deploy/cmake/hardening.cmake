# Warnings and hardening for every target. Where a compiler lacks a flag the
# flag is left out; nothing here depends on the build type but FORTIFY, which
# needs optimisation.
include(CheckCCompilerFlag)
include(CheckPIESupported)

add_compile_options(-Wall -Wextra -Wshadow -Wconversion -Werror
  -Wformat=2 -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef
  -fno-strict-aliasing -fno-common -fstack-protector-strong
  -ffunction-sections -fdata-sections)
add_compile_definitions(_GNU_SOURCE)

check_pie_supported(LANGUAGES C)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

foreach(flag -fcf-protection=full -fstack-clash-protection)
  string(MAKE_C_IDENTIFIER "HAVE${flag}" have)
  check_c_compiler_flag(${flag} ${have})
  if(${have})
    add_compile_options(${flag})
  endif()
endforeach()

if(BULKHEAD_SANITIZE OR BULKHEAD_FUZZ)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined
    -fno-omit-frame-pointer -O1)
  add_link_options(-fsanitize=address,undefined)
else()
  add_compile_options($<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE>
                      $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=3>)
  add_link_options(-Wl,-z,relro,-z,now -Wl,-z,noexecstack)
endif()
if(BULKHEAD_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
